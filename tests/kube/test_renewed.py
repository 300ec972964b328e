"""A token that is renewed: when it is asked for, by whom, what is used meanwhile; by a clock of our own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from structlog.testing import capture_logs

from shiplift.kube.credentials.renewed import Grant, Renewed
from shiplift.kube.errors import CredentialsError, KubeError, Unreachable
from tests.until import until

LIFE = 1000.0


class Office:
    """Gives tokens `t1`, `t2` …, unless it is closed; a clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = 0
        self.refusal: KubeError | None = None
        self.open = threading.Event()
        self.open.set()
        self.token = Renewed("ServiceAccount a/b", Grant("first", LIFE), self.give, lambda: self.now)

    def give(self) -> Grant:
        self.asked += 1
        assert self.open.wait(10)
        if self.refusal is not None:
            raise self.refusal
        return Grant(f"t{self.asked}", LIFE)

    def shown(self) -> str:
        return self.token.authorization().removeprefix("Bearer ")


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_fresh_token_is_used_as_it_is(office: Office) -> None:
    office.now = 0.79 * LIFE
    assert office.shown() == "first"
    assert office.asked == 0


def test_a_token_is_renewed_well_before_it_expires_and_nobody_waits_for_that(office: Office) -> None:
    office.open.clear()
    office.now = 0.81 * LIFE
    assert [office.shown() for _ in range(5)] == ["first"] * 5
    until(lambda: office.asked == 1)
    office.open.set()
    until(lambda: office.shown() == "t1")
    assert office.asked == 1


def test_of_many_threads_one_asks_for_the_next_token(office: Office) -> None:
    office.now = 2 * LIFE
    office.open.clear()
    with ThreadPoolExecutor(8) as threads:
        shown = [threads.submit(office.shown) for _ in range(8)]
        until(lambda: office.asked == 1)
        office.open.set()
        assert {one.result(10) for one in shown} == {"t1"}
    assert office.asked == 1


def test_while_a_renewal_fails_the_valid_token_stays_in_use_and_it_is_tried_again(office: Office) -> None:
    office.refusal = Unreachable("away")
    office.now = 0.81 * LIFE
    with capture_logs() as logs:
        assert office.shown() == "first"
        until(lambda: "the token in use stays" in [line["event"] for line in logs])
    assert office.shown() == "first"
    office.refusal, office.now = None, office.now + 6.0
    until(lambda: office.shown() == "t2")


def test_a_failing_renewal_is_logged_when_it_changes(office: Office) -> None:
    office.now = 2 * LIFE
    with capture_logs() as logs:
        for refusal in (Unreachable("away"), Unreachable("away"), CredentialsError("forbidden")):
            office.refusal = refusal
            with pytest.raises(type(refusal)):
                office.shown()
            office.now += 6.0
    assert [line["reason"] for line in logs if line["event"] == "no new token"] == ["away", "forbidden"]
    assert office.asked == 3


def test_an_expired_token_is_never_shown_and_a_refusal_is_not_asked_for_at_every_request(
    office: Office,
) -> None:
    office.refusal = Unreachable("away")
    office.now = LIFE
    for _ in range(3):
        with pytest.raises(Unreachable):
            office.shown()
    assert office.asked == 1


def test_a_refused_token_is_replaced_at_once(office: Office) -> None:
    office.token.forget("Bearer first")
    assert office.shown() == "t1"


def test_a_refusal_of_an_older_token_takes_the_new_one_from_nobody(office: Office) -> None:
    office.token.forget("Bearer first")
    assert office.shown() == "t1"
    office.token.forget("Bearer first")
    assert office.shown() == "t1"
    assert office.asked == 1


def test_what_it_is_shown_as_holds_no_secret(office: Office) -> None:
    assert "first" not in f"{office.token!r} {Grant('first', 1.0)!r} {vars(office.token)!r}"
