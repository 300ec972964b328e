"""Objects of the upgrade that are deleted and do not go: a finalizer of somebody else, or a layer that is not
there to take its own off. It is named, and after a while somebody has to look."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from shiplift.api.nodes import NodeState, NodeStatus
from shiplift.api.values import Condition, ConditionStatus
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.upgrade.tell.happenings import happenings
from tests.upgrade.players import Judge, Operator, finish, holds, until
from tests.upgrade.world import START, World

WORKERS = "upgrade-v1.36.3-workers"
FOREIGN, OURS = "backup.example/keep", "shiplift.dev/undo"


def under_way() -> tuple[World, Operator]:
    world = World.of(1, 4)
    operator = Operator(world)
    until(world, lambda: WORKERS in world.rollouts, operator)
    return world, operator


def keep(world: World, finalizer: str) -> None:
    """Somebody's finalizer is on all that the upgrade has made, and on what it makes."""
    world.kept_by = finalizer
    for name, one in world.rollouts.items():
        about = msgspec.structs.replace(one.metadata, finalizers=(finalizer,))
        world.rollouts[name] = msgspec.structs.replace(one, metadata=about)
    if world.migration is not None:
        about = msgspec.structs.replace(world.migration.metadata, finalizers=(finalizer,))
        world.migration = msgspec.structs.replace(world.migration, metadata=about)


def minutes(world: World, operator: Operator, many: int) -> bool:
    """Whether somebody has to look then."""
    for _ in range(many):
        operator.round()
        world.turn()
        world.now += timedelta(minutes=1)
    operator.round()
    return holds(world, "Stalled")


def free(world: World) -> None:
    world.kept_by = ""
    world.turn()


@pytest.mark.parametrize("how", ["abort", "delete"])
def test_what_a_foreign_finalizer_keeps_after_an_abort_is_named(how: str) -> None:
    world, operator = under_way()
    keep(world, FOREIGN)
    judge = Judge(world)
    world.change(abort=True) if how == "abort" else world.delete()
    assert minutes(world, operator, 3)
    assert f"finalizer {FOREIGN}" in world.config.status.message
    assert "of somebody else keeps " in world.config.status.message
    free(world)
    finish(world)
    assert judge.residue() == []
    assert world.upgrade is None or world.config.status.reason == "Aborted"


def test_it_is_named_in_the_end_of_an_upgrade_that_went_well() -> None:
    world, operator = under_way()
    keep(world, FOREIGN)
    for _ in range(30):
        operator.round()
        world.turn()
    assert not holds(world, "Stalled")
    assert minutes(world, operator, 2)
    assert FOREIGN in world.config.status.message
    free(world)
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_one_that_somebody_deletes_half_way_and_that_does_not_go_is_named() -> None:
    world, operator = under_way()
    keep(world, FOREIGN)
    one = world.rollouts[WORKERS]
    about = msgspec.structs.replace(one.metadata, deletion_timestamp=world.now)
    world.rollouts[WORKERS] = msgspec.structs.replace(one, metadata=about)
    operator.round()
    assert not holds(world, "Stalled")
    assert minutes(world, operator, 3)
    assert f"finalizer {FOREIGN} of somebody else keeps NodeRollout {WORKERS}" in world.config.status.message


@pytest.mark.parametrize("kind", ["NodeRollout", "WorkloadMigration"])
def test_a_layer_that_is_dead_while_it_is_aborted_is_named(kind: str) -> None:
    world, operator = under_way()
    keep(world, OURS)
    if kind == "NodeRollout":
        world.migration = None
    else:
        world.rollouts = {}
    world.change(abort=True)
    assert not minutes(world, operator, 4)
    assert minutes(world, operator, 3)
    layer = "nodes" if kind == "NodeRollout" else "workloads"
    assert f"an operator with the layer {layer} has to run" in world.config.status.message
    assert world.config.status.reason == "Aborting"
    free(world)
    finish(world)
    assert world.config.status.reason == "Aborted"


def test_a_layer_that_takes_its_time_says_why_and_nobody_has_to_look() -> None:
    world, operator = under_way()
    keep(world, OURS)
    world.migration = None
    world.change(abort=True)
    operator.round()
    one = world.rollouts[WORKERS]
    status = msgspec.structs.replace(
        one.status, observed_generation=one.metadata.generation, message="nodes are given back: w-1"
    )
    world.rollouts = {WORKERS: msgspec.structs.replace(one, status=status)}
    assert not minutes(world, operator, 20)
    assert "nodes are given back: w-1" in world.config.status.message
    said = (
        Condition(
            type="Stalled", status=ConditionStatus.TRUE, reason="DrainBlocked", last_transition_time=START
        ),
    )
    status = msgspec.structs.replace(status, conditions=said)
    world.rollouts = {WORKERS: msgspec.structs.replace(world.rollouts[WORKERS], status=status)}
    assert minutes(world, operator, 1)


def test_what_is_left_of_an_upgrade_that_is_gone_is_named_before_the_next_one() -> None:
    world, operator = under_way()
    keep(world, FOREIGN)
    world.upgrade = None
    world.ask()
    assert minutes(world, operator, 3)
    assert FOREIGN in world.config.status.message
    free(world)
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_an_abort_that_waits_for_a_control_plane_at_which_nothing_moves_says_so() -> None:
    """The layer nodes died when it had begun."""
    world = World.of(2, 2)
    operator = Operator(world)
    until(world, lambda: any(one.status.start_time for one in world.rollouts.values()), operator)
    [(name, one)] = world.rollouts.items()
    record = NodeStatus(
        name="cp-1", uid="n", state=NodeState.CHANGING, token="t", last_transition_time=world.now
    )
    status = msgspec.structs.replace(one.status, nodes=(record,))
    world.rollouts[name] = msgspec.structs.replace(one, status=status)
    world.change(abort=True)
    for minute in range(90):
        operator.round()
        assert holds(world, "Stalled") == (minute >= 60)
        world.now += timedelta(minutes=1)
    assert "an operator with the layer nodes has to run" in world.config.status.message
    assert f"`shiplift abort rollout/{name}` ends the wait" in world.config.status.message


@pytest.mark.parametrize(
    ("state", "late"), [(NodeState.CHANGING, True), (NodeState.DRAINING, False), (NodeState.SOAKING, False)]
)
def test_a_change_that_its_layer_should_have_given_up_by_now_says_that_nobody_runs_it(
    state: NodeState, late: bool
) -> None:
    """Drains and soaks may take long; a change fails after `nodeTimeout`, where a layer looks at it."""
    world, operator = under_way()
    one = world.rollouts[WORKERS]
    world.turn()
    record = NodeStatus(name="w-1", uid="n", state=state, token="t", last_transition_time=world.now)
    one = world.rollouts[WORKERS]
    status = msgspec.structs.replace(one.status, nodes=(record,))
    world.rollouts[WORKERS] = msgspec.structs.replace(one, status=status)
    for minute in range(70):
        operator.round()
        assert holds(world, "Stalled") == (late and minute >= 60), minute
        world.now += timedelta(minutes=1)
    assert ("an operator with the layer nodes has to run" in world.config.status.message) is late


def test_what_is_known_of_a_kind_that_stays_old_is_somebodys_to_look_at() -> None:
    """A watch that is refused or silent: it passes, or a right or a definition is missing."""
    world, operator = under_way()
    world.stale = (NODE_ROLLOUT,)
    for minute in range(12):
        before = world.config.status
        operator.round()
        assert holds(world, "Stalled") == (minute >= 5), minute
        warned = [one.reason for one in happenings(before, world.config.status) if one.warning]
        assert warned == (["StaleView"] if minute == 5 else [])
        world.now += timedelta(minutes=1)
    assert "NodeRollout" in world.config.status.message
    world.stale = ()
    operator.round()
    assert not holds(world, "Stalled")
    finish(world)
    assert world.config.status.phase == "Upgraded"
