"""Somebody denies what the layer has to write: whatever status the denial has, it is told, and nothing is
taken for done."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiplift.engine.layer import Retry
from shiplift.engine.step import Answer, Step
from shiplift.facts.kinds import CONFIG_MAP, UPGRADE_CONFIG, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, PreconditionFailed
from shiplift.kube.events import EventType, Recorder
from shiplift.outside.outbox import Outbox
from shiplift.policy.act import Actor
from shiplift.policy.model import View
from shiplift.policy.providers.asking import Asker
from shiplift.policy.providers.ocm import OcmProvider
from shiplift.policy.steps import Confirm, Create, Delete, Replace
from shiplift.policy.tell.publish import Publisher
from shiplift.policy.tell.record import RecordBook
from tests.policy.views import AT, HTTP, NEW, answered, decided, policy, row, view

SAYS = 'admission webhook "policy.example" denied the request: not on Fridays'
DENIALS = (
    Forbidden(SAYS, status=403),
    NotFound(SAYS, status=404),
    Conflict(SAYS, status=409),
    AlreadyExists(SAYS, status=409, reason="AlreadyExists"),
)
STEPS: tuple[Step, ...] = (
    Create("HTTP", policy()),
    Replace("u1", 7, "HTTP", policy()),
    Delete("u1", 7, "p1"),
    Confirm("u1", 7, "wish-1", "2026-11-20T02:00:00Z"),
)


class Server:
    """Answers every write with an error; nothing is there to be read."""

    def __init__(self, error: ApiError) -> None:
        self.error = error

    def get(self, *_: Any) -> None:
        raise NotFound("not found", status=404)

    def refuse(self, *_: Any, **__: Any) -> None:
        raise self.error

    apply = patch = delete = refuse


def actor(error: ApiError) -> Actor:
    return Actor(
        cast("Client", Server(error)),
        cast("Asker", None),
        cast("Outbox", None),
        cast("OcmProvider", None),
        lambda: HTTP,
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", DENIALS)
def test_a_denial_is_a_failure_and_says_who_denies_it(step: Step, error: ApiError) -> None:
    outcome = actor(error).act(step)
    assert (outcome.answer, outcome.message) == (Answer.FAILED, str(error))


@pytest.mark.parametrize(
    "error",
    [
        NotFound('upgradeconfigs.shiplift.dev "cluster" not found', status=404),
        PreconditionFailed("Precondition failed: UID in precondition", status=409),
    ],
)
def test_what_is_gone_already_need_not_be_deleted(error: ApiError) -> None:
    assert actor(error).act(Delete("u1", 7, "p1")).ok


class Writes:
    """Takes what is written, but for one kind."""

    def __init__(self, denied: Kind) -> None:
        self.denied = denied
        self.written: list[str] = []
        self.heard: list[tuple[str, str]] = []

    def get(self, *_: Any) -> dict[str, Any]:
        return {"metadata": {"uid": "c1", "resourceVersion": "1"}}

    def patch(self, kind: Kind, name: str, *_: Any, **__: Any) -> Any:
        if kind == self.denied:
            raise DENIALS[0]
        self.written.append(name)
        return Written({}, None)

    def record(self, _about: Any, reason: str, note: str, *, action: str, type: EventType) -> None:  # noqa: A002
        self.heard.append((reason, note))


def lost(book: RecordBook) -> View:
    """The policy of a running upgrade is gone, and nobody has been told."""
    running = {"targetVersion": NEW, "startTime": AT, "phase": "Upgrading"}
    return view(
        answered(None), row(policy(), status=running), record=book.read(), record_trouble=book.refused
    )


def test_a_record_that_somebody_denies_keeps_nothing_else_from_being_told_and_that_is_told_too() -> None:
    server = Writes(CONFIG_MAP)
    book = RecordBook(cast("Client", server), "ops")
    publisher = Publisher(cast("Client", server), cast("Recorder", server), book, "ops")
    for _ in range(2):
        decision = decided(lost(book))
        assert decision.told is not None
        assert decision.told[1] is not None
        assert decision.told[1].lost
        with pytest.raises(Retry, match="not on Fridays"):
            list(publisher.publish(decision))
    assert server.written == ["cluster", "cluster"]
    why = f"how the sync is going cannot be kept: {DENIALS[0]}"
    assert server.heard == [("PolicySyncFailed", why)]
    assert decision.told[1].message == why


def test_a_status_that_somebody_denies_is_told_by_an_event() -> None:
    server = Writes(UPGRADE_CONFIG)
    book = RecordBook(cast("Client", server), "ops")
    publisher = Publisher(cast("Client", server), cast("Recorder", server), book, "ops")
    with pytest.raises(Retry, match="not on Fridays"):
        list(publisher.publish(decided(lost(book))))
    assert ("StatusRefused", f"what is told of its policy cannot be written: {DENIALS[0]}") in server.heard
    assert book.refused == ""
