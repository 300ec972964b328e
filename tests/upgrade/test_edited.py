"""Windows and strategy are edited while the upgrade runs: NodeRollouts that are under way follow, those of a
strategy once somebody has approved it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.base import ObjectMeta
from shiplift.api.nodes import Canary, NodePolicy, NodeRollout, NodeRolloutSpec, OnBlockedDrain
from shiplift.api.upgrade import Strategy
from shiplift.api.values import Window
from tests.upgrade.players import Judge, Operator, finish, until, well
from tests.upgrade.world import NEW, START, World

WORKERS = "upgrade-v1.36.3-workers"
MORNING = Window(schedule="0 9 * * *", duration="8h")
NIGHT = Window(schedule="0 22 * * *", duration="4h")
UNUSABLE = Window(schedule="0 25 * * *", duration="1h")


def under_way(*, workers: int = 6, approved: bool = False, **spec: object) -> tuple[World, Operator]:
    """Workers are being changed."""
    world = World.of(1, workers, **({"approval": "Manual"} if approved else {}), **spec)
    world.change(windows=(MORNING,))
    operator = Operator(world)
    if approved:
        operator.round()
        world.approve()
    until(world, lambda: WORKERS in world.rollouts, operator)
    return world, operator


def rounds(world: World, operator: Operator, many: int = 5) -> int:
    """How many nodes run the target after so many seconds."""
    for _ in range(many):
        operator.round()
        world.turn()
    return sum(one.kubelet == NEW for one in world.hosts.values())


def test_no_node_is_begun_in_a_window_that_was_taken_out() -> None:
    world, operator = under_way()
    world.change(windows=(NIGHT,))
    operator.round()
    judge, done = Judge(world), rounds(world, operator, 0)
    assert rounds(world, operator) == done
    world.now = START.replace(hour=22)
    finish(world)
    well(world, judge)


def test_a_window_that_is_opened_half_way_is_used() -> None:
    world, operator = under_way()
    world.now = START.replace(hour=18)
    done = rounds(world, operator)
    assert rounds(world, operator) == done
    world.change(windows=())
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_windows_that_nobody_can_read_leave_those_from_before_in_force() -> None:
    world, operator = under_way()
    world.change(windows=(UNUSABLE,))
    rounds(world, operator)
    assert world.rollouts[WORKERS].spec.windows == (MORNING,)


def test_another_strategy_counts_for_the_nodes_that_are_left() -> None:
    world, operator = under_way()
    world.change(strategy=Strategy(nodes=NodePolicy(max_unavailable=3, canary=Canary(nodes=2))))
    rounds(world, operator, 1)
    spec = world.rollouts[WORKERS].spec
    assert (spec.max_unavailable, spec.canary, spec.windows) == (3, Canary(nodes=2), (MORNING,))


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, {"strategy": Strategy(nodes=NodePolicy(max_unavailable=3))}), ({"PDBForceDrainTimeout": 5}, {})],
    ids=["more at once", "force withdrawn"],
)
def test_another_strategy_counts_once_it_is_approved(
    before: dict[str, object], after: dict[str, object]
) -> None:
    world, operator = under_way(approved=True, **before)
    has = world.rollouts[WORKERS].spec
    assert (has.on_blocked is OnBlockedDrain.FORCE) == bool(before)
    world.change(**(after or {"pdb_force_drain_timeout": None}))
    rounds(world, operator, 2)
    assert world.rollouts[WORKERS].spec == has
    world.approve()
    rounds(world, operator, 1)
    spec = world.rollouts[WORKERS].spec
    assert (spec.max_unavailable, spec.on_blocked, spec.drain_timeout) == (3 if after else 1, None, None)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_user_who_changes_their_mind_is_nobody_who_undoes() -> None:
    world, operator = under_way()
    for windows in ((NIGHT,), (MORNING,)) * 3:
        world.change(windows=windows)
        operator.round()
        assert "somebody" not in world.config.status.message
        assert world.rollouts[WORKERS].spec.windows == windows
        world.now += timedelta(seconds=1)


policies = st.builds(
    NodePolicy,
    max_unavailable=st.sampled_from([1, 2, "20%"]),
    drain_timeout=st.sampled_from([None, "5m"]),
    on_blocked=st.sampled_from([None, *OnBlockedDrain]),
    delete_empty_dir_data=st.booleans(),
    canary=st.sampled_from([None, Canary(), Canary(nodes=2), Canary(soak="1m")]),
)


@given(policies, policies, st.sampled_from([(), (MORNING,), (NIGHT, MORNING)]))
def test_whatever_it_was_a_rollout_becomes_what_the_upgrade_config_says(
    before: NodePolicy, after: NodePolicy, windows: tuple[Window, ...]
) -> None:
    world, operator = under_way(workers=2)
    chosen = world.rollouts[WORKERS].spec.node_selector
    settings = msgspec.structs.asdict(before)
    spec = NodeRolloutSpec(version=NEW, node_selector=chosen, windows=(NIGHT,), **settings)
    about = ObjectMeta(**msgspec.structs.asdict(world.rollouts[WORKERS].metadata))
    world.rollouts[WORKERS] = NodeRollout(metadata=about, spec=spec)
    world.change(windows=windows, strategy=Strategy(nodes=after))
    operator.round()
    wanted = msgspec.structs.replace(spec, windows=windows, **msgspec.structs.asdict(after))
    assert world.rollouts[WORKERS].spec == wanted
