"""Somebody else drains a node and waits for a while only: what is held goes before then, in its order."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode, WaitForNodes
from shiplift.facts.nodes import Node
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.steps import DeleteHold, MakeHold, WritePlacement
from tests.workloads.views import (
    DB,
    DEPLOYMENT,
    WEB,
    a_shop,
    an_id,
    cordon,
    decided,
    say,
    status,
    under_way,
)
from tests.workloads.world import World

API = an_id("api")
DEADLINE = 900.0
AT_ONCE = WaitForNodes(settle="0s")


def drained(world: World) -> World:
    """All old nodes are cordoned by somebody else, and that was written down."""
    cordon(world, "old-1", "old-2")
    world.publish(status(world))
    return world


def shop(deadline: str | None = "15m", **spec: object) -> World:
    return drained(a_shop(2, 1, drain_deadline=deadline, wait_for_nodes=AT_ONCE, **spec))


def released(world: World) -> set[WorkloadId]:
    steps = [step for step in decided(world).steps if isinstance(step, WritePlacement)]
    owners = {owner for step in steps for owner, turn in step.turns.items() if turn is Turn.RELEASED}
    return {id_ for id_ in (WEB, DB, API) if id_.owner_key in owners}


def test_since_when_a_node_is_drained_is_written_down_first_and_stays() -> None:
    world = shop()
    told = status(world).draining
    assert [(one.node, one.since) for one in told] == [("old-1", world.now), ("old-2", world.now)]
    began = world.now
    world.pass_time(60)
    world.publish(status(world))
    assert {one.since for one in status(world).draining} == {began}


def test_a_node_that_is_drained_no_more_is_forgotten() -> None:
    world = shop()
    node = world.named(Node, "old-1", "")
    assert node is not None
    world.put(msgspec.structs.replace(node, unschedulable=False))
    assert [one.node for one in status(world).draining] == ["old-2"]


@pytest.mark.parametrize(
    ("passed", "goes"), [(0, False), (DEADLINE / 2 - 1, False), (DEADLINE * 0.64, True), (DEADLINE, True)]
)
def test_a_held_workload_is_let_go_before_the_deadline_and_not_long_before(passed: float, goes: bool) -> None:
    world = shop()
    world.pass_time(passed)
    assert (WEB in released(world)) is goes
    told = [(one.workload, one.reason) for one in status(world).exceptions]
    assert told == [("Deployment shop/web", "DrainDeadline")] * (2 * goes)


def test_without_a_deadline_it_is_held_for_as_long_as_it_takes() -> None:
    world = shop(None)
    world.pass_time(10 * DEADLINE)
    assert WEB not in released(world)
    assert (status(world).exceptions, status(world).draining) == ((), ())


def test_while_it_is_paused_nobody_is_let_go() -> None:
    world = shop(paused=True)
    world.pass_time(DEADLINE)
    assert WEB not in released(world)
    assert status(world).exceptions == ()
    assert status(world).draining, "the time goes on all the same"


def test_where_no_target_node_is_there_nobody_is_let_go() -> None:
    world = shop()
    for name in ("new-1", "new-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.remove(node)
    world.pass_time(DEADLINE)
    assert WEB not in released(world)
    assert status(world).exceptions == ()


def test_a_workload_without_pods_on_a_drained_node_keeps_its_turn() -> None:
    world = a_shop(2, 1, drain_deadline="15m", wait_for_nodes=AT_ONCE)
    world.node("old-3")
    cordon(world, "old-3")
    world.publish(status(world))
    world.pass_time(DEADLINE)
    assert WEB not in released(world)


def test_its_budget_is_given_back_so_that_the_other_side_can_go_on() -> None:
    world = shop()
    held = [step for step in decided(world).steps if isinstance(step, MakeHold) and step.workload == WEB]
    assert held
    world.pass_time(DEADLINE)
    steps = decided(world).steps
    assert not [step for step in steps if isinstance(step, MakeHold) and step.workload == WEB]
    assert not [step for step in steps if isinstance(step, DeleteHold)]


def test_in_mode_template_it_is_let_go_too() -> None:
    world = shop(mode=Mode.TEMPLATE)
    world.pass_time(DEADLINE)
    assert [one.reason for one in status(world).exceptions] == ["DrainDeadline"] * 2


def test_those_that_depend_on_less_go_first() -> None:
    world = under_way(
        *((DEPLOYMENT, name, 1) for name in ("db", "api", "web")),
        drain_deadline="15m",
        wait_for_nodes=AT_ONCE,
    )
    db = an_id("db")
    world.order("order", [(API, db), (WEB, API)])
    say(world, {WEB.owner_key: Turn.HELD, API.owner_key: Turn.HELD, db.owner_key: Turn.RELEASED})
    drained(world)
    seen: list[set[WorkloadId]] = []
    for _ in range(100):
        world.pass_time(DEADLINE / 100)
        now = released(world) - {DB}
        if not seen or seen[-1] != now:
            seen.append(now)
    assert [one for one in seen if one] == [{API}, {API, WEB}]


def test_what_comes_next_is_looked_at_in_time() -> None:
    world = shop()
    world.pass_time(DEADLINE / 2)
    after = decided(world).look_again_after
    assert after is not None
    assert after <= timedelta(seconds=30)


def test_each_pod_is_recorded_once() -> None:
    world = shop()
    world.pass_time(DEADLINE)
    world.publish(status(world))
    world.pass_time(5)
    assert len(status(world).exceptions) == 2


def test_it_is_said_until_when_the_other_side_waits() -> None:
    (note,) = [one for one in decided(shop()).notes if "drained by somebody else" in one]
    assert note.startswith(
        "node old-1 and 1 more is drained by somebody else, who is said to wait until 00:15"
    )


@given(st.integers(0, 2000), st.integers(1, 3600))
def test_whoever_is_held_at_the_deadline_was_let_go_before_it(passed: int, deadline: int) -> None:
    world = drained(a_shop(2, 1, drain_deadline=f"{deadline}s", wait_for_nodes=AT_ONCE))
    world.pass_time(passed)
    goes = WEB in released(world)
    assert goes or passed < deadline
    assert not goes or passed >= deadline // 2
