"""A status that cannot be written: nothing goes on before it is, so that is told by an Event."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiplift.engine.layer import Retry
from shiplift.kube.client import Client
from shiplift.kube.errors import (
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    ServerError,
    Throttled,
    Unreachable,
)
from shiplift.kube.events import EventType, Recorder
from shiplift.upgrade.decide.decision import decide
from shiplift.upgrade.tell.publish import Publisher
from tests.upgrade.world import World

SAYS = 'admission webhook "policy.example" denied the request'
DENIED = Forbidden(SAYS, status=403, reason="Forbidden")
BROKEN = ServerError('failed calling webhook "policy.example"', status=500, reason="InternalError")


class Server:
    def __init__(self, error: KubeError) -> None:
        self.error = error
        self.heard: list[tuple[str, str, EventType]] = []

    def patch(self, *_: Any, **__: Any) -> None:
        raise self.error

    def record(self, _about: Any, reason: str, note: str, *, action: str, type: EventType) -> None:  # noqa: A002
        self.heard.append((reason, note, type))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DENIED, True),
        (BROKEN, True),
        (Conflict(SAYS, status=409, reason="Conflict"), True),
        (NotFound(SAYS, status=404, reason="NotFound"), True),
        (Throttled("later", status=429), False),
        (Unreachable("connection refused"), False),
    ],
)
def test_who_refuses_a_status_is_told_by_an_event(error: KubeError, told: bool) -> None:
    world, server = World.of(1, 2), Server(error)
    publisher = Publisher(cast("Client", server), cast("Recorder", server))
    with pytest.raises(Retry, match="cannot be written"):
        list(publisher.publish(decide(world.view(), world.now)))
    said = f"the status of the UpgradeConfig cannot be written, and nothing goes on before it is: {error}"
    assert server.heard == ([("StatusRefused", said, EventType.WARNING)] if told else [])


@pytest.mark.parametrize(
    "error",
    [
        Conflict("the object has been modified", status=409, reason="Conflict"),
        NotFound('upgradeconfigs.shiplift.dev "cluster" not found', status=404, reason="NotFound"),
    ],
)
def test_a_status_of_what_has_moved_on_is_nobodys_refusal(error: KubeError) -> None:
    world, server = World.of(1, 2), Server(error)
    publisher = Publisher(cast("Client", server), cast("Recorder", server))
    assert list(publisher.publish(decide(world.view(), world.now))) == []
    assert server.heard == []
