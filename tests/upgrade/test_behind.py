"""A watch that brings nothing for minutes, and that nobody has noticed: what we have just written is not
there to be seen. Nothing is made again meanwhile, and nobody is accused of having undone it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pytest

from shiplift.engine.barrier import Seen
from shiplift.engine.step import Answer, Outcomes, Step
from shiplift.facts.kinds import CLUSTER_VERSION, NODE_ROLLOUT, UPGRADE_CONFIG, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.store import Snapshot
from shiplift.kube.tables import Frozen, Lookup, Table
from shiplift.upgrade.act.actor import Actor
from shiplift.upgrade.decide.decision import decide
from shiplift.upgrade.model import View
from shiplift.upgrade.observe.observer import READS, Observer
from shiplift.upgrade.steps import MakeRollout, SetUpdate, TellTurn
from tests.policy.views import row
from tests.upgrade.players import Operator, until
from tests.upgrade.test_contested import HOOK
from tests.upgrade.world import World


class Silent:
    """A store whose tables are fresh, as far as anybody knows: with an UpgradeConfig alone."""

    def __init__(self) -> None:
        self.tables: Mapping[Kind, Frozen] = {kind: _table(kind) for kind in READS}

    def snapshot(self, *of: Kind) -> Snapshot:
        return Snapshot({kind: self.tables[kind] for kind in of})


def _table(kind: Kind) -> Frozen:
    table = Table(Lookup(), lambda *_: None)
    table.stale_until = -math.inf
    if kind == UPGRADE_CONFIG:
        table.put(row())
    return table.freeze()


def seen(outcomes: Outcomes) -> View:
    return Observer(Silent(), dict).observe(outcomes)


def test_a_kind_that_does_not_show_what_was_written_is_old() -> None:
    assert seen(Outcomes()).stale == ()
    assert seen(Outcomes(unsettled=(Seen(NODE_ROLLOUT, 9),))).stale == (NODE_ROLLOUT,)


def test_what_was_made_and_is_not_shown_is_not_made_again_and_nobody_is_accused() -> None:
    world = World.of(1, 2)
    operator = Operator(world)
    until(world, lambda: world.rollouts, operator)
    silent = msgspec.structs.replace(
        world.view(), rollouts=(), stale=seen(Outcomes(unsettled=(Seen(NODE_ROLLOUT, 9),))).stale
    )
    decision = decide(silent, world.now)
    assert not any(isinstance(one, MakeRollout) for one in decision.steps)
    assert decision.told is not None
    assert "what is known of NodeRollout may be old" in decision.told.status.message


class Server:
    """An UpgradeConfig of that generation, and a ClusterVersion."""

    def __init__(self, generation: int, uid: str = "u1") -> None:
        about = {"resourceVersion": "9", "generation": generation}
        spec = {"desired": {"version": "4.20.3"}, "turnHook": HOOK}
        self.objects = {
            UPGRADE_CONFIG: {"metadata": {"uid": uid, **about}, "spec": spec},
            CLUSTER_VERSION: {"metadata": {"uid": "cv", **about}, "spec": {}},
        }
        self.writes = 0

    def get(self, kind: Kind, *_: Any) -> Any:
        return self.objects[kind]

    def write(self, *_: Any, **__: Any) -> Written:
        self.writes += 1
        return Written({}, None)

    create = patch = write


@pytest.mark.parametrize(
    "step",
    [
        SetUpdate("cv", "4.20.3", "u1", 2),
        TellTurn("u1", 2, "ops", "tell-1", "Nodes", "v1.36"),
    ],
)
@pytest.mark.parametrize(
    ("server", "answer"),
    [
        (Server(2), Answer.OK),
        (Server(3), Answer.REFUSED),
        (Server(2, uid="another"), Answer.OK),
    ],
)
def test_what_cannot_be_called_back_is_done_for_what_is_asked_for_now(
    step: Step, server: Server, answer: Answer
) -> None:
    """Somebody aborts, and the watch of UpgradeConfigs is silent: nobody is told to begin."""
    before = server.writes
    outcome = Actor(cast("Client", server)).act(step)
    assert outcome.answer is answer
    asked = answer is Answer.OK and server.objects[UPGRADE_CONFIG]["metadata"]["uid"] == "u1"
    assert (server.writes > before) is asked
