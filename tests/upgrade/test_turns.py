"""The Job that tells whose turn it is: made once for a turn, whatever becomes of the note that it was."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiplift.api.marks import TURN_TOLD
from shiplift.engine.barrier import Seen
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import JOB, UPGRADE_CONFIG, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import Forbidden
from shiplift.upgrade.act import turns
from shiplift.upgrade.steps import TellTurn
from tests.upgrade.players import Operator, until
from tests.upgrade.test_contested import HOOK, told_turn, unmark
from tests.upgrade.world import World

DENIED = 'admission webhook "policy.example" denied the request: no Jobs'
LACKING = 'jobs.batch is forbidden: User "shiplift" cannot create resource "jobs"'


class Server:
    """An UpgradeConfig with a hook; Jobs are made, or forbidden. One that has ended is gone at once."""

    def __init__(self, world: World, forbidden: str = "") -> None:
        about = {"name": "cluster", "uid": world.config.metadata.uid, "resourceVersion": "1", "generation": 1}
        self.live = {"metadata": about, "spec": {"desired": {"version": "1.36"}, "turnHook": HOOK}}
        self.forbidden = forbidden
        self.made: list[str] = []

    def get(self, kind: Kind, *_: Any) -> dict[str, Any]:
        assert kind == UPGRADE_CONFIG
        return self.live

    def create(self, kind: Kind, body: dict[str, Any], *_: Any) -> Written:
        assert kind == JOB
        if self.forbidden:
            raise Forbidden(self.forbidden, status=403)
        self.made.append(body["metadata"]["name"])
        return Written(body, None)

    def patch(self, *_: Any, **__: Any) -> Written:
        return Written({}, Seen(UPGRADE_CONFIG, 2))


def step_of(operator: Operator) -> TellTurn:
    (step,) = (one for one in operator.round().steps if isinstance(one, TellTurn))
    return step


def tell(server: Server, step: TellTurn) -> Outcome:
    return turns.tell(cast("Client", server), step)


def test_who_is_told_once_is_not_told_again_where_somebody_takes_the_note_off() -> None:
    world = World.of(0, 2, version="1.36", type="External", turnHook=HOOK)
    server, operator = Server(world), Operator(world)
    world.listeners.append(lambda one: isinstance(one, TellTurn) and tell(server, one))  # type: ignore[arg-type]
    for _ in range(3):
        until(world, lambda: TURN_TOLD in world.config.metadata.annotations, operator, rounds=120)
        world.upgrade = unmark(world.config, TURN_TOLD)
    assert len(server.made) == 1


def test_another_leader_that_finds_no_note_tells_it() -> None:
    world = told_turn()
    world.upgrade = unmark(world.config, TURN_TOLD)
    server = Server(world)
    assert tell(server, step_of(Operator(world))).ok
    assert len(server.made) == 1


@pytest.mark.parametrize(
    ("says", "hint"), [(LACKING, " (hint: `shiplift manifests --hooks ops"), (DENIED, "")]
)
def test_no_right_is_missing_where_a_webhook_denies_the_job(says: str, hint: str) -> None:
    world = told_turn()
    world.upgrade = unmark(world.config, TURN_TOLD)
    said = tell(Server(world, says), step_of(Operator(world))).message
    assert said.startswith(says + hint)
    assert ("hint" in said) is bool(hint)
