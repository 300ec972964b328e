"""Every failing answer, whatever its shape, becomes one bounded error of the right kind."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.kube import errors
from shiplift.kube.answers import CAUSES_LIMIT, MESSAGE_LIMIT, RETRY_AFTER_LIMIT, cut, error_for


def status(message: str = "no", reason: str = "", **details: object) -> bytes:
    body = {"kind": "Status", "message": message, "reason": reason, "details": details}
    return msgspec.json.encode(body)


BUDGET = {"reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods and has 2"}
PENDING = {
    "reason": "DisruptionBudget",
    "message": "The disruption budget web is still being processed by the server.",
}


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (400, status(reason="BadRequest"), errors.ApiError),
        (401, status(reason="Unauthorized"), errors.Unauthorized),
        (403, status(reason="Forbidden"), errors.Forbidden),
        (404, status(reason="NotFound"), errors.NotFound),
        (404, b"404 page not found\n", errors.NotFound),
        (409, status(reason="Conflict"), errors.Conflict),
        (409, status(reason="AlreadyExists"), errors.AlreadyExists),
        (
            409,
            status("Precondition failed: UID in precondition: a, UID in object meta: b"),
            errors.PreconditionFailed,
        ),
        (409, status("the UID in the precondition (a) does not match"), errors.PreconditionFailed),
        (409, status("uid mismatch: the provided object specified uid a"), errors.PreconditionFailed),
        (409, status("the ResourceVersion in the precondition (1) does not match"), errors.Conflict),
        (422, status(causes=[{"field": "metadata.uid"}]), errors.PreconditionFailed),
        (422, status(causes=[{"field": "spec.replicas"}]), errors.Invalid),
        (410, status(reason="Expired"), errors.Gone),
        (429, status(causes=[BUDGET]), errors.BudgetExhausted),
        (429, status(causes=[PENDING]), errors.BudgetPending),
        (429, b"Too many requests, please try again later.", errors.Throttled),
        (429, status(reason="TooManyRequests"), errors.Throttled),
        (500, status("This pod has more than one PodDisruptionBudget, which"), errors.TwoBudgets),
        (500, b"This request caused apiserver to panic", errors.ServerError),
        (503, b"", errors.ServerError),
        (302, b"<html>log in</html>", errors.ApiError),
    ],
)
def test_an_answer_becomes_the_error_it_means(
    code: int, body: bytes, expected: type[errors.ApiError]
) -> None:
    error = error_for(code, {}, body)
    assert type(error) is expected
    assert error.status == code


def test_a_budget_that_says_no_names_itself_and_its_numbers() -> None:
    assert "web needs 2 healthy pods and has 2" in str(error_for(429, {}, status(causes=[BUDGET])))


@pytest.mark.parametrize(
    ("header", "in_body", "expected"),
    [
        ("7", None, 7.0),
        ("", 10, 10.0),
        ("3", 10, 3.0),
        ("soon", None, None),
        ("", None, None),
        ("9" * 30, None, RETRY_AFTER_LIMIT),
    ],
)
def test_the_server_says_when_to_ask_again(header: str, in_body: int | None, expected: float | None) -> None:
    assert error_for(429, {"retry-after": header}, status(retryAfterSeconds=in_body)).retry_after == expected


def test_an_empty_answer_still_says_something() -> None:
    assert "502" in str(error_for(502, {}, b""))


@given(st.integers(300, 599), st.binary(max_size=9000))
def test_no_body_is_too_strange(code: int, body: bytes) -> None:
    error = error_for(code, {}, body)
    assert error.message
    assert len(error.message) <= MESSAGE_LIMIT * 2
    assert error.message.isprintable()


@given(st.lists(st.text(max_size=3000), max_size=60))
def test_causes_are_bounded(messages: list[str]) -> None:
    error = error_for(422, {}, status(causes=[{"message": message} for message in messages]))
    assert len(error.causes) <= CAUSES_LIMIT
    assert all(len(cause.message) <= MESSAGE_LIMIT for cause in error.causes)


@given(st.text(), st.integers(2, 50))
def test_a_cut_text_is_one_printable_line(text: str, limit: int) -> None:
    line = cut(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


def test_a_hint_follows_the_message() -> None:
    assert str(errors.KubeError("no token", hint="log in")) == "no token (hint: log in)"
