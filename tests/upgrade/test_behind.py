"""A watch that brings nothing for minutes, and that nobody has noticed: what we have just written is not
there to be seen. Nothing is made again meanwhile, and nobody is accused of having undone it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from shiplift.engine.barrier import Seen
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import NODE_ROLLOUT, UPGRADE_CONFIG, Kind
from shiplift.kube.store import Snapshot
from shiplift.kube.tables import Frozen, Lookup, Table
from shiplift.upgrade.decide.decision import decide
from shiplift.upgrade.model import View
from shiplift.upgrade.observe.observer import READS, Observer
from shiplift.upgrade.steps import MakeRollout
from tests.policy.views import row
from tests.upgrade.players import Operator, until
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
