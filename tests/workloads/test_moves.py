"""Which pods go now, in which order, and what keeps the others."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import HOLD_LEDGER, UPGRADE_TAINT, label_value
from shiplift.api.placements import Turn
from shiplift.api.workloads import Hold, MigrationState, Mode, OnBlockedWorkload, OnMissing, WorkloadState
from shiplift.engine.decision import requeue
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, PodSpec, Toleration
from shiplift.facts.workloads import StatefulSet
from shiplift.workloads.decide import books, obstacles
from shiplift.workloads.decide.decision import arrived, decide
from shiplift.workloads.decide.waiting import line_of
from shiplift.workloads.model import Migrating, Reason, Unreadable, View
from shiplift.workloads.observe.dependencies import DEPENDS_ON
from shiplift.workloads.record import Record
from shiplift.workloads.steps import Evict, Force, MakeHold, Replace, Step, WritePlacement
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.databases import BOTH, a_database, a_pod, label, named
from tests.workloads.views import (
    DEPLOYMENT,
    STATEFUL_SET,
    an_id,
    arrive,
    change,
    evicting,
    look,
    say,
    under_way,
)
from tests.workloads.world import NEW, OLD, SPACE, World

WEB, API, DB = an_id("web"), an_id("api"), an_id("db", STATEFUL_SET)
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def released(world: World) -> World:
    say(world, {WEB.owner_key: Turn.RELEASED})
    return world


def decided(world: World, outcomes: Outcomes | None = None) -> Migrating:
    return decide(look(world, outcomes), NOW)


def of(decision: Migrating, kind: type[Step]) -> list[Step]:
    return [step for step in decision.steps if isinstance(step, kind)]


def without_target_nodes(world: World) -> World:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.remove(node)
    return world


def test_pods_under_one_budget_are_of_one_lane() -> None:
    world = under_way((DEPLOYMENT, "web", 8))
    lanes = {step.lane for step in of(decided(released(world)), Evict) if isinstance(step, Evict)}
    assert len(lanes) == 1


def test_when_the_target_nodes_are_gone_again_nobody_stays_released() -> None:
    world = without_target_nodes(released(under_way((DEPLOYMENT, "web", 2))))
    (step,) = of(decided(world), WritePlacement)
    assert isinstance(step, WritePlacement)
    assert step.turns == {WEB.owner_key: Turn.HELD}


def test_before_the_first_target_node_a_workload_waits_and_is_not_blocked() -> None:
    decision = decided(without_target_nodes(under_way((DEPLOYMENT, "web", 2))))
    (line,) = status_of(decision).workloads
    assert (line.state, line.reason) == (WorkloadState.HELD, Reason.WAITING_FOR_NODES.value)
    assert not of(decision, Replace)


def test_who_has_no_slot_is_not_held_against_a_drain() -> None:
    world = under_way((DEPLOYMENT, "web", 2))
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, unschedulable=True))
    decision = decided(world)
    assert decision.lines[WEB].reason is Reason.NO_SLOT
    assert not of(decision, MakeHold)


def test_in_mode_template_a_pod_of_an_older_template_stays() -> None:
    world = under_way((STATEFUL_SET, "db", 2), mode=Mode.TEMPLATE)
    mine = Toleration(UPGRADE_TAINT, "Equal", label_value(NEW), "NoSchedule")
    change(world, "db", partition=2, template=PodSpec(tolerations=(mine,)))
    say(world, records={DB.owner_key: Record(toleration=NEW)})
    decision = decided(world)
    assert not of(decision, Evict)
    assert decision.lines[DB].state is WorkloadState.BLOCKED
    assert "partitioned" in decision.lines[DB].message


def test_a_namespace_that_cannot_be_written_is_named_and_stops_nobody_else() -> None:
    world = released(under_way((DEPLOYMENT, "web", 2)))
    world.workload(DEPLOYMENT, "api", 1, namespace="closed")
    step = next(one for one in of(decided(world), WritePlacement) if one.key.endswith("closed"))
    failed = Outcome(step=step.key, answer=Answer.FAILED, message="quota exceeded", at=NOW)
    decision = decided(world, Outcomes({step.key: failed}))
    assert of(decision, Evict)
    assert any("closed" in note and "quota exceeded" in note for note in decision.notes)


def unreadable(world: World, kind: Kind, namespace: str = SPACE, name: str = "odd") -> View:
    return msgspec.structs.replace(look(world), unreadable=(Unreadable(kind, namespace, name, "not a list"),))


def test_a_migration_that_cannot_be_read_stops_everything_and_forgets_nothing() -> None:
    world = released(under_way((DEPLOYMENT, "web", 2)))
    decision = decide(unreadable(world, kinds.WORKLOAD_MIGRATION, "", "cluster"), NOW)
    status = status_of(decision)
    assert not decision.steps
    assert decision.stalled
    assert (status.state, status.target, status.mode) == (MigrationState.UPGRADE, NEW, Mode.INJECT)


@pytest.mark.parametrize(
    "kind", [kinds.WORKLOAD_ORDER, kinds.WORKLOAD_PLACEMENT, kinds.POD_DISRUPTION_BUDGET, kinds.POD]
)
def test_what_cannot_be_read_keeps_its_namespace_and_is_named(kind: Kind) -> None:
    world = released(under_way((DEPLOYMENT, "web", 2)))
    decision = decide(unreadable(world, kind), NOW)
    assert not decision.steps
    assert not decision.stalled
    line = decision.lines[an_id("web")]
    assert line.reason is Reason.UNREADABLE
    assert f"{kind.kind} {SPACE}/odd cannot be read (not a list)" in line.message


def test_what_cannot_be_read_keeps_no_other_namespace() -> None:
    world = released(under_way((DEPLOYMENT, "web", 2)))
    decision = decide(unreadable(world, kinds.POD_DISRUPTION_BUDGET, "elsewhere"), NOW)
    assert of(decision, Evict)
    assert any("PodDisruptionBudget elsewhere/odd cannot be read" in note for note in decision.notes)


def test_a_migration_does_not_end_while_something_cannot_be_read() -> None:
    world = released(under_way((DEPLOYMENT, "web", 1)))
    world.put(msgspec.structs.replace(world.pods(an_id("web"))[0], node="new-1"))
    for node in [one for one in world.all(Node) if one.kubelet_version == OLD]:
        world.remove(node)
    arrive(world, "web")
    assert not decide(look(world), NOW).moving
    decision = decide(unreadable(world, kinds.NODE, "", "old-9"), NOW)
    assert decision.moving
    assert decision.stalled
    assert "Node old-9 cannot be read" in decision.message


def test_who_depends_on_a_workload_that_cannot_be_read_waits_for_it() -> None:
    world = under_way((DEPLOYMENT, "web", 1), (STATEFUL_SET, "db", 1), on_missing=OnMissing.IGNORE)
    change(world, "web", annotations=Labels({DEPENDS_ON: f"apps/namespaces/{SPACE}/StatefulSet/db"}))
    row = world.named(StatefulSet, "db")
    assert row is not None
    world.remove(row)
    assert an_id("web") in look(world).order.ready, "what is missing is ignored"
    world.spoil(kinds.STATEFUL_SET, "db", "no replicas")
    decision = decide(look(world), NOW)
    line = line_of(decision, decision.view.tallies[an_id("web")])
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.UNREADABLE)


def test_who_depends_on_one_in_another_namespace_that_cannot_be_read_waits_for_it_too() -> None:
    world = under_way((DEPLOYMENT, "web", 1), on_missing=OnMissing.IGNORE)
    change(world, "web", annotations=Labels({DEPENDS_ON: "apps/namespaces/elsewhere/StatefulSet/db"}))
    assert an_id("web") in look(world).order.ready, "what is missing is ignored"
    world.spoil(kinds.STATEFUL_SET, "db", "no replicas", "elsewhere")
    assert an_id("web") not in look(world).order.ready


def test_nothing_arrives_from_a_view_that_may_be_old() -> None:
    world = released(under_way((DEPLOYMENT, "web", 0)))
    fresh = look(world)
    stale = msgspec.structs.replace(fresh, stale=(kinds.POD,))
    assert decide(fresh, NOW).met
    assert not decide(stale, NOW).met


def running(*steps: Step) -> Outcomes:
    return Outcomes(running=frozenset(step.key for step in steps))


def test_an_eviction_under_way_counts_as_taken_and_stays_wanted() -> None:
    world = released(under_way((DEPLOYMENT, "web", 8)))
    first = of(decided(world), Evict)
    assert first
    again = of(decided(world, running(*first)), Evict)
    assert again == first


def test_an_eviction_under_way_counts_even_where_another_pod_would_be_first_now() -> None:
    world = released(under_way((DEPLOYMENT, "web", 8)))
    first = of(decided(world), Evict)
    pods = decided(world).view.tallies[WEB].away
    others = [pod.uid for pod in pods if f"evict {pod.uid}" not in {step.key for step in first}]
    last = Outcomes(running=frozenset(f"evict {uid}" for uid in others[-len(first) :]))
    again = of(decided(world, last), Evict)
    assert {step.key for step in again} == last.running


def test_paused_nothing_that_has_not_begun_stays_wanted() -> None:
    world = released(under_way((DEPLOYMENT, "web", 8)))
    first = of(decided(world), Evict)
    world.migrate(paused=True)
    assert of(decided(world, running(*first)), Evict) == []


def test_more_than_the_most_at_once_are_never_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "MOST_AT_ONCE", 1)
    world = released(under_way((DEPLOYMENT, "web", 8)))
    first = of(decided(world), Evict)
    assert len(first) == 1
    assert of(decided(world, running(*first)), Evict) == first


def test_force_waits_for_the_replacement_of_a_pod_that_is_gone_already() -> None:
    world = under_way((STATEFUL_SET, "db", 3), on_blocked=OnBlockedWorkload.FORCE)
    world.budget("never", {"app": "db"}, {"maxUnavailable": 0})
    nature.settle(world)
    say(world, {DB.owner_key: Turn.RELEASED})
    (first,) = of(decided(world), Force)
    gone = next(pod for pod in world.all(Pod) if f"force {pod.uid}" == first.key)
    world.remove(gone)
    assert of(decided(world), Force) == []


def test_a_few_of_a_lane_are_asked_for_at_once_so_that_one_that_hangs_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(books, "MOST_AT_ONCE", 5)
    world = released(under_way((DEPLOYMENT, "web", 60), (DEPLOYMENT, "api", 4)))
    say(world, {WEB.owner_key: Turn.RELEASED, API.owner_key: Turn.RELEASED})
    first = of(decided(world), Evict)
    count = Counter(step.workload.name for step in first if isinstance(step, Evict))
    assert count == {"web": books.MOST_IN_A_LANE, "api": 1}
    assert of(decided(world, running(*first)), Evict) == first


def test_after_a_rollback_who_is_being_evicted_has_not_arrived_though_it_looks_so() -> None:
    world = under_way((DEPLOYMENT, "web", 2), target=OLD)
    world.migrate(target=OLD)
    view = look(world)
    assert [row.uid for row in [world.row_of(WEB)] if row] == list(arrived(view, NOW))
    one = view.tallies[WEB].pods[0]
    view = look(world, evicting(one))
    assert arrived(view, NOW) == ()


def test_the_last_pods_that_are_being_evicted_stay_wanted() -> None:
    world = released(under_way((DEPLOYMENT, "web", 1)))
    (first,) = of(decided(world), Evict)
    decision = decided(world, running(first))
    assert of(decision, Evict) == [first]
    assert decision.lines[WEB].reason is Reason.EVICTING


def test_a_broken_pod_of_a_stateful_set_stays_while_another_of_it_is_being_evicted() -> None:
    world = under_way((STATEFUL_SET, "db", 3))
    say(world, {DB.owner_key: Turn.RELEASED})
    one, other, _ = sorted(world.pods(DB), key=lambda pod: pod.name)
    world.put(msgspec.structs.replace(other, ready=False))
    (alone,) = of(decided(world), Evict)
    assert alone.key == f"evict {other.uid}"
    assert [step.key for step in of(decided(world, evicting(one)), Evict)] == [f"evict {one.uid}"]


def test_force_waits_for_a_pod_that_is_being_evicted() -> None:
    world = under_way((STATEFUL_SET, "db", 3), on_blocked=OnBlockedWorkload.FORCE)
    world.budget("never", {"app": "db"}, {"maxUnavailable": 0})
    nature.settle(world)
    say(world, {DB.owner_key: Turn.RELEASED})
    one = world.pods(DB)[0]
    assert len(of(decided(world), Force)) == 1
    decision = decided(world, evicting(one))
    assert of(decision, Force) == []
    assert decision.lines[DB].reason is Reason.TERMINATING


def test_after_a_rollback_an_eviction_that_has_not_begun_is_not_wanted_any_more() -> None:
    world = under_way((DEPLOYMENT, "web", 2), target=OLD)
    world.migrate(target=OLD)
    say(world, {WEB.owner_key: Turn.RELEASED}, target=OLD)
    one = look(world).tallies[WEB].pods[0]
    decision = decided(world, evicting(one))
    assert of(decision, Evict) == []
    assert decision.lines[WEB].reason is Reason.TERMINATING


def test_a_budget_is_charged_once_for_what_is_being_evicted() -> None:
    world = under_way((DEPLOYMENT, "web", 8))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 3})
    nature.settle(world)
    released(world)
    first = of(decided(world), Evict)
    assert len(first) == 3
    again = of(decided(world, running(first[-1])), Evict)
    assert len(again) == 3
    assert first[-1] in again


@pytest.mark.parametrize("last", ["evicted", "terminating"])
def test_the_slots_of_all_pods_that_are_on_their_way_are_kept(last: str) -> None:
    world = released(under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 1)))
    say(world, {WEB.owner_key: Turn.RELEASED, API.owner_key: Turn.RELEASED})
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.put(
                msgspec.structs.replace(node, allocatable=msgspec.structs.replace(node.allocatable, pods=1))
            )
    one, other = world.pods(WEB)
    world.put(msgspec.structs.replace(one, deleting=True))
    if last == "terminating":
        world.put(msgspec.structs.replace(other, deleting=True))
    decision = decided(world, evicting(other) if last == "evicted" else None)
    assert decision.lines[API].reason is Reason.NO_SLOT


# --- budgets by the labels of each pod ---


def evicted(world: World, outcomes: Outcomes | None = None) -> list[str]:
    return [step.name for step in of(decided(world, outcomes), Evict) if isinstance(step, Evict)]


def a_released_database(*roles: str, **given: Any) -> World:
    world = a_database(*roles, **given)
    say(world, {DB.owner_key: Turn.RELEASED})
    return world


def test_pods_of_different_budgets_are_of_different_lanes_and_go_together() -> None:
    world = a_released_database("primary", "replica", "replica")
    steps = [step for step in of(decided(world), Evict) if isinstance(step, Evict)]
    assert [step.name for step in steps] == ["db-2", "db-0"]
    assert [step.lane for step in steps] == [named(world, "replica").uid, named(world, "primary").uid]
    assert sorted(evicted(world, running(*steps))) == ["db-0", "db-2"]


@pytest.mark.parametrize("spec", [{"minAvailable": 1}, {"maxUnavailable": 0}])
def test_a_pod_that_its_budget_never_lets_go_keeps_no_sibling(spec: dict[str, Any]) -> None:
    world = a_released_database("replica", "replica", "primary", budgets=BOTH | {"primary": spec})
    assert evicted(world) == ["db-1"]
    assert decided(world).lines[DB].reason is Reason.EVICTING


def test_a_pod_with_two_budgets_keeps_no_sibling() -> None:
    world = a_released_database("replica", "replica", "primary")
    world.budget("again", {"role": "primary"}, {"minAvailable": 0})
    nature.settle(world)
    assert evicted(world) == ["db-1"]


def alone_on_old_nodes(world: World, number: int) -> None:
    """All pods but that one are on a target node."""
    for pod in world.pods(DB):
        if pod.name != f"db-{number}":
            world.put(msgspec.structs.replace(pod, node="new-1"))
    nature.settle(world)


def test_when_all_that_is_left_is_blocked_the_line_names_pod_and_budgets() -> None:
    world = a_released_database("primary", "replica", "replica")
    world.budget("again", {"role": "primary"}, {"minAvailable": 0})
    alone_on_old_nodes(world, 0)
    line = decided(world).lines[DB]
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.TWO_BUDGETS)
    assert line.message == (
        "PodDisruptionBudgets shop/again and shop/primary both select pod shop/db-0;"
        " change the budget, or set spec.onBlocked of WorkloadMigration cluster to Force, which goes past it"
    )


def test_force_takes_what_is_left_only_when_nobody_may_be_labelled_any_more() -> None:
    world = a_released_database("primary", "replica", "replica", on_blocked=OnBlockedWorkload.FORCE)
    label(world, 2, "")
    for number in (0, 1):
        world.budget(f"never-{number}", {"role": ("primary", "replica")[number]}, {"maxUnavailable": 0})
    nature.settle(world)
    fresh = a_pod(look(world), 2)
    world.put(msgspec.structs.replace(fresh, node="new-1", ready_since=int(NOW.timestamp()) - 3))
    decision = decided(world)
    assert of(decision, Force) == []
    assert decision.look_again == requeue(timedelta(seconds=obstacles.TIME_TO_LABEL - 3))
    world.put(msgspec.structs.replace(fresh, node="new-1", ready_since=int(NOW.timestamp()) - 60))
    assert [step.key for step in of(decided(world), Force)] == [f"force {a_pod(look(world), 1).uid}"]


def test_what_is_waited_for_is_the_budget_of_a_pod_that_may_go_later() -> None:
    world = a_released_database(
        "replica", "primary", "replica", budgets=BOTH | {"primary": {"minAvailable": 1}}
    )
    world.put(msgspec.structs.replace(named(world, "replica"), disruptions_allowed=0, current_healthy=1))
    line = decided(world).lines[DB]
    assert line.reason is Reason.BUDGET_EXHAUSTED
    assert "PodDisruptionBudget shop/replica needs 1 healthy pod and has just 1" in line.message


def test_a_release_waits_until_every_budget_of_its_pods_is_given_back() -> None:
    world = a_released_database("primary", "replica", "replica", hold=Hold.ALWAYS)
    held = msgspec.structs.replace(named(world, "primary"), annotations=Labels({HOLD_LEDGER: "1"}))
    world.put(held)
    decision = decided(world)
    assert decision.lines[DB].reason is Reason.HELD_BUDGET
    assert not of(decision, Evict)
