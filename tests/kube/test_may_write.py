"""A change is sent only while who sends it may write: asked at the last moment, each time that it is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from shiplift.engine.step import Answer
from shiplift.facts.kinds import CONFIG_MAP
from shiplift.kube import transport
from shiplift.kube.client import Client
from shiplift.kube.lease import NotLeading
from shiplift.kube.outcomes import refusal
from tests.kube.answering import Answering, answer, answering
from tests.kube.steps import Write

STORED = answer(b'{"metadata": {"uid": "u", "resourceVersion": "2"}}', Connection="close")
OVERLOAD = answer(b"busy", "429 Too Many Requests", Retry_After="0", Connection="close")
CHANGE = {"data": {"colour": "red"}}


class Term:
    """Leads for so many questions."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise NotLeading("epoch 3 is over, now is 4")


def change(client: Client, *, dry_run: bool = False) -> object:
    return client.patch(CONFIG_MAP, "settings", CHANGE, "space", uid="u", dry_run=dry_run)


def test_a_change_that_is_tried_again_after_the_term_is_over_is_not_sent() -> None:
    with answering(OVERLOAD, STORED) as server:
        with Client(server.credentials, may_write=Term(1).check) as client, pytest.raises(NotLeading):
            change(client)
        assert _sent(server) == ["PATCH"]


def test_a_change_that_waited_for_its_connection_is_not_sent_after_the_term(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only connection is taken: the question comes when it is free, not when the call began."""
    monkeypatch.setattr(transport, "CONNECTIONS", 1)
    leads, asked, hold = threading.Event(), threading.Event(), threading.Event()
    leads.set()

    def check() -> None:
        if not leads.is_set():
            raise NotLeading("over")
        asked.set()
        hold.wait(10)

    with answering(STORED) as server, ThreadPoolExecutor(2) as threads:
        with Client(server.credentials, may_write=check) as client:
            first = threads.submit(change, client)
            assert asked.wait(10)
            second = threads.submit(change, client)
            leads.clear()
            hold.set()
            first.result(10)
            with pytest.raises(NotLeading):
                second.result(10)
        assert _sent(server) == ["PATCH"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.get(CONFIG_MAP, "settings", "space"),
        lambda client: change(client, dry_run=True),
    ],
    ids=["get", "dry-run"],
)
def test_what_changes_nothing_is_sent_by_anybody(ask: Callable[[Client], object]) -> None:
    with answering(STORED) as server, Client(server.credentials, may_write=Term(0).check) as client:
        ask(client)
    assert len(_sent(server)) == 1


def test_a_leader_sends_its_changes_each_after_one_question() -> None:
    term = Term(2)
    with answering(STORED) as server, Client(server.credentials, may_write=term.check) as client:
        change(client)
        change(client)
    assert (len(server.requests), term.left) == (2, 0)


def test_after_a_refused_change_the_connections_still_work() -> None:
    term = Term(0)
    with answering(STORED) as server, Client(server.credentials, may_write=term.check) as client:
        for _ in range(3):
            with pytest.raises(NotLeading):
                change(client)
        term.left = 1
        change(client)
    assert _sent(server) == ["PATCH"]


def _sent(server: Answering) -> list[str]:
    """What came in; who hangs up without a word has sent nothing."""
    return [one.split(" ", 1)[0] for one in server.requests if one]


def test_the_default_field_manager_passes_no_fence() -> None:
    with answering(STORED) as server:
        with Client(server.credentials) as client:
            change(client)
        assert "fieldManager=shiplift-client" in server.requests[0]


def test_a_step_that_was_not_sent_is_refused_and_did_not_fail() -> None:
    outcome = refusal(Write(), NotLeading("epoch 3 is over, now is 4"))
    assert (outcome.answer, outcome.message) == (Answer.REFUSED, "epoch 3 is over, now is 4")
