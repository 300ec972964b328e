"""Labels of nodes are put on or taken off half-way, so that no NodeRollout chooses a node any more, and nodes
join: each that is not brought to the target is named."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.world import NEW, OLD, Host, World

WORKERS = "upgrade-v1.36.3-workers"
OLD_LABEL = "node-role.kubernetes.io/master"


def under_way(workers: int = 3) -> tuple[World, Operator]:
    world = World.of(1, workers)
    operator = Operator(world)
    until(world, lambda: WORKERS in world.rollouts, operator)
    return world, operator


def rounds(world: World, operator: Operator, many: int = 20) -> None:
    for _ in range(many):
        operator.round()
        world.turn()


def test_a_control_plane_node_that_has_the_old_label_alone_keeps_it_from_starting() -> None:
    world = World.of(1, 2)
    world.masters.add("cp-0")
    Operator(world).round()
    assert world.config.status.reason == "PreflightFailed"
    assert world.config.status.findings[0].code == "ROLES"
    assert "node cp-0" in world.config.status.message
    world.masters.clear()
    judge = Judge(world)
    finish(world)
    well(world, judge)


@pytest.mark.parametrize("spec", [{"type": "External"}, {}], ids=["of somebody else", "of the target"])
def test_the_old_label_matters_to_nobody_where_no_rollout_of_ours_would_change_the_node(
    spec: dict[str, str],
) -> None:
    world = World.of(0 if spec else 1, 2, **spec)
    world.masters.add("w-1")
    world.hosts["w-1"].kubelet = OLD if spec else NEW
    Operator(world).round()
    assert "ROLES" not in {one.code for one in world.config.status.findings}


def test_a_worker_that_gets_the_old_label_half_way_is_named() -> None:
    world, operator = under_way()
    world.masters.add("w-2")
    rounds(world, operator)
    assert (world.config.status.reason, holds(world, "Stalled")) == ("StepStalled", True)
    assert "no NodeRollout chooses node w-2" in world.config.status.message
    assert OLD_LABEL in world.config.status.message
    world.masters.clear()
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_node_that_is_not_chosen_and_is_left_out_is_waited_for_no_more() -> None:
    world, operator = under_way()
    world.masters.add("w-2")
    rounds(world, operator)
    world.hosts["w-2"].left_out = True
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_a_node_that_joins_while_nodes_are_changed_is_changed_too_and_nobody_is_called() -> None:
    world, operator = under_way()
    world.hosts["w-8"] = Host()
    for _ in range(20):
        operator.round()
        assert not holds(world, "Stalled")
        world.turn()
    judge = Judge(world)
    finish(world)
    well(world, judge)


def workloads_move() -> tuple[World, Operator]:
    """All nodes are of the target, but one that is left out and is not empty yet."""
    world, operator = under_way()
    world.hosts["w-2"].left_out, world.stays = True, True
    until(world, lambda: world.config.status.reason == "Workloads", operator)
    for _ in range(10):
        operator.round()
        world.turn()
    assert world.config.status.reason == "Workloads"
    return world, operator


def test_a_newer_node_that_joins_half_way_is_named_before_workloads_are_waited_for() -> None:
    world, operator = workloads_move()
    world.hosts["w-9"] = Host(kubelet="v1.36.9")
    operator.round()
    assert holds(world, "Stalled")
    assert f"node w-9 runs v1.36.9, which no upgrade makes {NEW}" in world.config.status.message


def test_a_node_that_no_rollout_chooses_for_another_reason_is_named_after_a_while() -> None:
    """A NodeRollout that is complete, and a node of its part that does not run the target."""
    world, operator = workloads_move()
    world.hosts["w-7"] = Host()
    operator.round()
    assert not holds(world, "Stalled")
    world.now += timedelta(minutes=6)
    operator.round()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("StepStalled", True)
    assert "no NodeRollout chooses node w-7" in world.config.status.message
    world.stays = False
    judge = Judge(world)
    finish(world)
    well(world, judge)
