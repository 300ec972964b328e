"""Machines that somebody has installed anew or given back, commands that run while nobody hears of them:
never a second cluster, never two control planes at a time, nothing begun twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from shiplift.machines.model import Bootstrapping, CommandState, Purpose, Reason
from shiplift.machines.pools import read
from shiplift.machines.steps import Run
from tests.machines.world import Laptop, World, bare, names, text, wanted


def a_cluster(planes: int, workers: int) -> World:
    world = World(*names(wanted(planes, workers)))
    assert Laptop(world, wanted(planes, workers)).finish().complete
    return world


def rounds(laptop: Laptop, count: int = 40) -> tuple[Bootstrapping, list[Purpose]]:
    """The last decision, and what was run for it."""
    ran: list[Purpose] = []
    for _ in range(count):
        decision = laptop.round()
        ran += [one.purpose for one in decision.steps if isinstance(one, Run)]
        if decision.over:
            break
    return decision, ran


def test_a_first_machine_that_was_installed_anew_begins_no_second_cluster() -> None:
    world = a_cluster(3, 1)
    world.machines["cp-1"] = replace(bare("cp-1"), machine_id="new")
    decision, ran = rounds(Laptop(world, wanted(3, 1)))
    assert Purpose.INIT not in ran
    assert decision.over
    assert (decision.reason, decision.complete) == (Reason.INCOMPLETE, False)
    assert "node cp-1 is another machine's" in decision.message
    assert "`kubectl delete node cp-1`" in decision.hint


def test_it_joins_as_a_new_one_once_its_node_is_gone() -> None:
    world = a_cluster(3, 0)
    world.machines["cp-1"] = replace(bare("cp-1"), machine_id="new")
    for name in ("cp-2", "cp-3"):
        told = world.machines[name]
        kept = tuple(one for one in told.nodes or () if one.name != "cp-1")
        world.machines[name] = replace(told, nodes=kept)
    decision, ran = rounds(Laptop(world, wanted(3, 0)), 80)
    assert (decision.complete, decision.message) == (True, "3 of 3 machines are part of the cluster")
    assert Purpose.INIT not in ran
    assert Purpose.JOIN in ran


def test_where_the_only_control_plane_was_installed_anew_nothing_begins_and_nothing_is_complete() -> None:
    world = a_cluster(1, 1)
    world.machines["cp-1"] = replace(bare("cp-1"), machine_id="new")
    world.now += timedelta(hours=1)
    decision, ran = rounds(Laptop(world, wanted(1, 1)), 200)
    assert Purpose.INIT not in ran
    assert (decision.over, decision.reason) == (True, Reason.INCOMPLETE)


@pytest.mark.parametrize("name", ["w-1", "cp-2"])
def test_a_machine_that_was_reset_by_hand_joins_again(name: str) -> None:
    world = a_cluster(3, 1)
    world.machines[name] = replace(world.machines[name], kubeadm=False, joined=False, nodes=None)
    for one, facts in world.machines.items():
        if facts.nodes is not None:
            kept = tuple(node for node in facts.nodes if node.name != name)
            world.machines[one] = replace(facts, nodes=kept)
    decision, ran = rounds(Laptop(world, wanted(3, 1)), 80)
    assert decision.complete
    assert ran == [Purpose.JOIN]


def test_a_first_machine_whose_journal_is_gone_is_told_by_its_node() -> None:
    world = a_cluster(1, 1)
    world.machines["cp-1"] = replace(world.machines["cp-1"], commands=())
    decision, ran = rounds(Laptop(world, wanted(1, 1)))
    assert Purpose.INIT not in ran
    assert all("kubeadm init did not come to its end" not in one.message for one in decision.told)


def joining(planes: int = 3) -> tuple[World, Laptop]:
    """The second control plane joins, and has not ended."""
    world = World(*names(wanted(planes, 0)))
    laptop = Laptop(world, wanted(planes, 0))
    while world.machines["cp-2"].last("join") is None:
        laptop.round()
    for _ in range(2):
        laptop.round(tick=False)
    last = world.machines["cp-2"].last("join")
    assert last is not None
    assert last.state is CommandState.RUNNING
    return world, laptop


def test_a_control_plane_that_is_silent_while_it_joins_keeps_its_turn() -> None:
    world, laptop = joining()
    world.take_down("cp-2")
    world.now += timedelta(seconds=61)
    for _ in range(4):
        decision = laptop.round(tick=False)
    assert world.machines["cp-3"].last("join") is None
    assert {one.machine.name: one.message for one in decision.told}[
        "cp-3"
    ] == "control plane cp-2 joins first"
    assert world.judged == []


def test_what_still_runs_when_its_time_is_over_is_not_begun_again() -> None:
    world, laptop = joining()
    world.now += timedelta(hours=3)
    for _ in range(4):
        decision = laptop.round(tick=False)
    last = world.machines["cp-2"].last("join")
    assert last is not None
    assert last.attempt == 1
    told = {one.machine.name: one.message for one in decision.told}["cp-2"]
    assert "join-1 still runs, and should have ended" in told


def test_nothing_is_added_to_a_pool_that_is_paused() -> None:
    world = a_cluster(1, 1)
    asked = wanted(1, 2)
    pools = tuple(
        replace(one, spec=replace(one.spec, paused=True)) if one.metadata.name == "workers" else one
        for one in asked.pools
    )
    paused = replace(asked, pools=pools)
    world.machines["w-2"] = bare("w-2")
    decision, ran = rounds(Laptop(world, paused))
    assert (decision.complete, ran) == (True, [])
    assert "pool workers is paused: no machine is added to it" in decision.notes


def test_no_kubelet_comes_before_its_control_plane() -> None:
    world = a_cluster(1, 1)
    later = read(text(1, 2).replace("version: 1.36.3", "version: 1.37.0").encode())
    world.machines["w-2"] = bare("w-2")
    decision, ran = rounds(Laptop(world, later))
    assert ran == []
    assert "w-2: kubelet v1.37.0 would be ahead of the control plane, which runs v1.36.3" in decision.message


def test_a_worker_whose_join_failed_and_whose_node_works_is_left_alone() -> None:
    world = a_cluster(1, 1)
    worker = world.machines["w-1"]
    commands = tuple(replace(one, code=1) if one.purpose == "join" else one for one in worker.commands)
    world.machines["w-1"] = replace(worker, commands=commands)
    world.now += timedelta(days=7)
    decision, ran = rounds(Laptop(world, wanted(1, 1)))
    assert (decision.complete, ran) == (True, [])


def test_the_cluster_has_not_begun_while_its_init_still_runs() -> None:
    """Its node may be there before kubeadm has ended: nobody joins yet."""
    world = a_cluster(1, 1)
    first, worker = world.machines["cp-1"], bare("w-1")
    commands = tuple(
        replace(one, state=CommandState.RUNNING, code=None) if one.purpose == "init" else one
        for one in first.commands
        if one.purpose not in ("network", "admit-w-1")
    )
    world.machines["cp-1"] = replace(first, commands=commands)
    world.machines["w-1"] = replace(worker, mark=world.machines["w-1"].mark)
    decision = Laptop(world, wanted(1, 1)).round(tick=False)
    told = {one.machine.name: one.reason for one in decision.told}
    assert told["cp-1"] is Reason.INIT_RUNNING
