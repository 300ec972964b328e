"""Counting event by event gives what counting afresh gives, and while nothing moves nothing is counted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.decide import make
from shiplift.api.marks import HOLD_LEDGER, MANAGED_BY, MANAGER, TARGET_LABEL
from shiplift.api.workloads import Mode, WorkloadKind, WorkloadMigrationSpec, WorkloadPlacementSpec
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.meta import Labels, Owner, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import HostPort, Pod, PodSpec, PodTerm, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import Requirement, Selector
from shiplift.facts.workloads import (
    Deployment,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from shiplift.kube.store import Snapshot, Store
from shiplift.pdb.coverage import budgets_of
from shiplift.room.node_room import Demand, NodeRoom
from shiplift.room.occupancy import Slots
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Reason, Role, Target
from shiplift.workloads.names import FINALIZER, SKIP
from shiplift.workloads.observe.census import Census
from shiplift.workloads.observe.observer import READS, Observer, Scope
from shiplift.workloads.observe.order import Arrived, Ordering
from tests.examples import tries
from tests.model import nature
from tests.workloads.world import NEW, OLD, SPACE, World, a_world

TARGET = Target(NEW, Mode.TEMPLATE, Reason.MOVING)
ALL = Selector(Labels())
SPEC = WorkloadMigrationSpec()
SHARED_LABELS = Labels(app="anywhere")
"""One object for pods of any namespace, as in the store."""
KEEPS_OTHERS_OFF = PodSpec(
    requests=Resources(cpu=100, memory=3, storage=2, extended=(("example.com/gpu", 1),)),
    anti_affinity=(PodTerm(ALL, "kubernetes.io/hostname"),),
    host_ports=(HostPort(80, "TCP", ""),),
)
DEMANDS = (Demand.of(PodSpec()), Demand.of(PodSpec(tolerations=(Toleration(operator="Exists"),))))
SEVERAL = ("pods", "away", "pending", "evicting")
Change = Callable[[World, int], None]


# --- what can happen ---


def pick(rows: list[Any], number: int) -> Any:
    return rows[number % len(rows)] if rows else None


def tick(world: World, _number: int) -> None:
    nature.tick(world)


def put_node(world: World, number: int) -> None:
    """One that is there already changes its version, or is closed."""
    node = world.named(Node, f"n{number % 4}", "")
    if node is None:
        world.node(f"n{number % 4}", NEW if number % 2 else OLD, room=number % 3 + 2)
    else:
        other = OLD if node.kubelet_version == NEW else NEW
        world.put(msgspec.structs.replace(node, kubelet_version=other, unschedulable=number % 3 == 0))


def close_node(world: World, number: int) -> None:
    """Its role stays what it is."""
    node = pick(world.all(Node), number)
    if node is not None:
        world.put(msgspec.structs.replace(node, unschedulable=not node.unschedulable))


def mark_node(world: World, number: int) -> None:
    node = pick(world.all(Node), number)
    if node is not None:
        labels = {**node.labels, TARGET_LABEL: pick([NEW, OLD], number)}
        world.put(msgspec.structs.replace(node, labels=Labels(labels)))


def drop_node(world: World, number: int) -> None:
    node = pick(world.all(Node), number)
    if node is not None:
        world.remove(node)


def put_workload(world: World, number: int) -> None:
    kind = WorkloadKind.DEPLOYMENT if number % 3 else WorkloadKind.STATEFUL_SET
    space = SPACE if number % 5 else "back"
    id_ = WorkloadId(kind.value, space, f"w{number % 4}")
    row = world.row_of(id_)
    if row is None:
        world.workload(kind, id_.name, number % 4, space, tier="shared" if number % 2 else "")
        return
    labels = Labels({"app": id_.name} | ({"tier": "shared"} if number % 2 else {}))
    skip = Labels({SKIP: "true"}) if number % 7 == 0 else Labels()
    world.put(msgspec.structs.replace(row, replicas=number % 4, template_labels=labels, annotations=skip))


def drop_workload(world: World, number: int) -> None:
    row = pick([*world.all(Deployment), *world.all(StatefulSet)], number)
    if row is not None:
        world.remove(row)


def end_workload(world: World, number: int) -> None:
    """It is asked to go, and stays for a while."""
    row = pick([*world.all(Deployment), *world.all(StatefulSet)], number)
    if row is not None:
        world.put(msgspec.structs.replace(row, deleting=1))


def change_pod(world: World, number: int) -> None:
    pod = pick(world.all(Pod), number)
    if pod is not None:
        ways: list[dict[str, Any]] = [
            {"ready": not pod.ready},
            {"deleting": 1, "disruption": "EvictionByEvictionAPI"},
            {"phase": "Succeeded"},
            {"node": "n9"},
            {"node": "", "nominated_node": "n1"},
            {"owners": ()},
            {"labels": SHARED_LABELS},
            {"spec": KEEPS_OTHERS_OFF},
        ]
        world.put(msgspec.structs.replace(pod, **ways[number % len(ways)]))


def label_pod(world: World, number: int) -> None:
    """Somebody sets or takes off a label at run time."""
    pod = pick(world.all(Pod), number)
    if pod is not None:
        labels = {key: value for key, value in pod.labels.items() if key != "role"}
        role = pick([{"role": "primary"}, {"role": "replica"}, {}, {"tier": "shared"}], number)
        world.put(msgspec.structs.replace(pod, labels=Labels(labels | role)))


def drop_pod(world: World, number: int) -> None:
    pod = pick(world.all(Pod), number)
    if pod is not None:
        world.remove(pod)


def drop_set(world: World, number: int) -> None:
    one = pick(world.all(ReplicaSet), number)
    if one is not None:
        world.remove(one)


def give_set(world: World, number: int) -> None:
    """A ReplicaSet loses its owner, or another Deployment takes it."""
    one = pick(world.all(ReplicaSet), number)
    if one is None:
        return
    new = pick([row for row in world.all(Deployment) if row.namespace == one.namespace], number // 2)
    owners = () if number % 3 == 0 or new is None else (Owner("Deployment", new.name, new.uid, True),)
    world.put(msgspec.structs.replace(one, owners=owners))


def put_budget(world: World, number: int) -> None:
    """One that is there gets another selector, a label or an annotation."""
    space = SPACE if number % 5 else "back"
    selectors = [
        Selector(Labels(app=f"w{number % 4}")),
        Selector(Labels(tier="shared")),
        Selector(Labels()),
        Selector(Labels(), (Requirement("app", "In", ("w0", "w1")),)),
        None,
        Selector(Labels(role="primary")),
        Selector(Labels(app=f"w{number % 4}", role="replica")),
        Selector(Labels(), (Requirement("role", "DoesNotExist"),)),
    ]
    row = world.named(PodDisruptionBudget, f"b{number % 3}", space)
    fresh = row or make(PodDisruptionBudget, f"b{number % 3}", namespace=space, uid=f"b-{world.number()}")
    world.put(
        msgspec.structs.replace(
            fresh,
            selector=selectors[number % len(selectors)],
            labels=Labels({MANAGED_BY: MANAGER}) if number % 4 == 0 else Labels(),
            annotations=Labels({HOLD_LEDGER: "1"}) if number % 6 == 0 else Labels(),
        )
    )


def drop_budget(world: World, number: int) -> None:
    row = pick(world.all(PodDisruptionBudget), number)
    if row is not None:
        world.remove(row)


def put_autoscaler(world: World, number: int) -> None:
    """One that is there gets another workload to scale."""
    row = world.named(HorizontalPodAutoscaler, f"h{number % 2}")
    fresh = row or make(HorizontalPodAutoscaler, f"h{number % 2}", namespace=SPACE, uid=f"h-{world.number()}")
    world.put(msgspec.structs.replace(fresh, target_kind="Deployment", target_name=f"w{number % 4}"))


def drop_autoscaler(world: World, number: int) -> None:
    row = pick(world.all(HorizontalPodAutoscaler), number)
    if row is not None:
        world.remove(row)


def end_namespace(world: World, number: int) -> None:
    row = pick(world.all(Namespace), number)
    if row is not None:
        world.put(msgspec.structs.replace(row, deleting=1))


def renew_namespace(world: World, number: int) -> None:
    """It is deleted with all that is in it, and made again."""
    row = pick(world.all(Namespace), number)
    if row is None:
        return
    everything = [*world.all(Pod), *world.all(ReplicaSet), *world.all(Deployment), *world.all(StatefulSet)]
    for one in [*everything, *world.all(PodDisruptionBudget), *world.all(HorizontalPodAutoscaler)]:
        if one.namespace == row.name:
            world.remove(one)
    world.remove(row)
    world.put(make(Namespace, row.name, uid=f"space-{world.number()}", phase="Active"))


def put_order(world: World, number: int) -> None:
    ids = [WorkloadId("Deployment", SPACE, f"w{one}") for one in range(4)]
    world.order(f"o{number % 2}", [(ids[number % 4], ids[(number + 1) % 4])])


OFTEN: tuple[Change, ...] = (
    tick,
    put_node,
    close_node,
    mark_node,
    put_workload,
    change_pod,
    label_pod,
    put_budget,
    put_autoscaler,
    put_order,
)
SELDOM: tuple[Change, ...] = (
    drop_node,
    drop_workload,
    end_workload,
    drop_pod,
    drop_set,
    give_set,
    drop_budget,
    drop_autoscaler,
    end_namespace,
    renew_namespace,
)
"""What takes something away: too much of it, and nothing is left to count."""
CHANGES = OFTEN * 4 + SELDOM


# --- what is counted ---


def sums(census: Census, order: Any) -> dict[str, Any]:
    """All that a census says, without what is free in it: the sequence of pods and budgets."""
    fleet = census.fleet({})
    room = census.room(Role.TARGET)
    occupancy = room.occupancy
    assert all(occupancy.places[name] is place for name, place in room.eligible.items())
    return {
        "tallies": {id_: _sorted(one) for id_, one in census.tallies.items()},
        "budgets": census.budgets,
        "covers": {uid: set(those) for uid, those in census.covers.items() if those},
        "holds": census.holds,
        "unscheduled": set(census.unscheduled),
        "away": census.away,
        "fleet": fleet,
        "targets": set(room.eligible),
        "slots": [_slots(room.slots(demand, ())) for demand in DEMANDS],
        "free": {name: _free(place) for name, place in occupancy.places.items()},
        "peers": occupancy.peers,
        "ending": occupancy.ending,
        "guards": occupancy.guards,
        "spaces": occupancy.spaces,
        "ready": order.ready,
        "met": order.met,
        "depth": order.depth,
        "missing": order.missing,
        "others": {pod.uid: pod for pod in census.others()},
    }


def _free(place: NodeRoom) -> tuple[Any, ...]:
    devices = {name: number for name, number in place.extended.items() if number}
    return place.pods, place.cpu, place.memory, place.storage, devices, place.ports


def _slots(slots: Slots) -> tuple[set[str], Any, dict[Any, set[str]]]:
    """Which nodes, why not the others, and the nodes by a label that may change."""
    groups = {values: {place.name for place in places} for values, places in slots.grouped((TARGET_LABEL,))}
    return {place.name for place in slots.places}, slots.refused, groups


def _sorted(tally: Any) -> Any:
    ordered = {name: tuple(sorted(getattr(tally, name), key=_uid)) for name in SEVERAL}
    alike = tally.alike is not None
    return msgspec.structs.replace(tally, alike=alike, **ordered)


def taken(answer: Answer, at: datetime) -> Outcomes:
    """A step of this term, answered so."""
    return Outcomes().remember([Outcome(step="evict a-pod", answer=answer, message="no")], at)


@pytest.mark.parametrize("answer", [Answer.OK, Answer.REFUSED, Answer.FAILED])
def test_steps_of_a_move_that_is_over_cost_no_look_either(answer: Answer) -> None:
    world = a_world()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    observer, store = watched(world)
    outcomes = taken(answer, world.now)
    observer.observe(outcomes)
    for _ in range(3):
        nature.delete(world, world.pods(id_)[0])
        nature.settle(world)
        assert observer.observe(outcomes).outcomes is outcomes
    assert store.looks == 1


@pytest.mark.parametrize("left", ["budget", "placement", "label", "finalizer"])
def test_while_something_of_ours_is_left_each_look_is_fresh(left: str) -> None:
    """What may be old is not undone, and only a look tells what is old."""
    world = a_world()
    if left == "budget":
        uid = world.budget("shiplift-hold-deployment-web", {"app": "web"}, {"maxUnavailable": 0})
        document = world.documents[uid]
        about = document["metadata"] | {"labels": {MANAGED_BY: MANAGER}}
        world.write_budget(document | {"metadata": about})
    elif left == "placement":
        world.write_placement(SPACE, WorkloadPlacementSpec(target=NEW))
    elif left == "label":
        world.node("late", labels={TARGET_LABEL: NEW})
    else:
        world.finalize(FINALIZER)
    observer, store = watched(world)
    outcomes = taken(Answer.REFUSED, world.now)
    first = observer.observe(outcomes)
    assert decide(first, world.now).steps
    observer.observe(outcomes)
    assert store.looks == 2


@pytest.mark.parametrize("kind", [kinds.WORKLOAD_PLACEMENT, kinds.WORKLOAD_ORDER, kinds.POD])
def test_what_could_not_be_read_is_not_told_of_any_more_once_it_is_deleted(kind: kinds.Kind) -> None:
    world = a_world()
    observer, _ = watched(world)
    assert not observer.observe(Outcomes()).unreadable
    world.spoil(kind, "odd", "turn Odd")
    assert [one.name for one in observer.observe(Outcomes()).unreadable] == ["odd"]
    world.unspoil(kind, "odd")
    assert not observer.observe(Outcomes()).unreadable


def _uid(pod: Pod) -> str:
    return pod.uid


class Counter:
    """A census with the order of what it has counted."""

    def __init__(self) -> None:
        self.census, self._ordering = Census(), Ordering()
        self._news: list[tuple[kinds.Kind, Row]] = []

    def heard(self, kind: kinds.Kind, old: Row | None, new: Row | None) -> None:
        self._news.append((kind, cast("Row", new or old)))

    def look(self, snapshot: Snapshot, scope: Scope, *evicting: str) -> dict[str, Any]:
        news, self._news = self._news, []
        self.census.refresh(snapshot, scope, news, frozenset(evicting))
        orders = tuple(snapshot.customs(kinds.WORKLOAD_ORDER))
        tallies = self.census.tallies
        return sums(
            self.census, self._ordering.order(SPEC, tallies, orders, Arrived(), self.census.declarations)
        )


@given(
    st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 23), st.booleans()), min_size=10),
    st.sampled_from((Mode.INJECT, Mode.TEMPLATE)),
)
@settings(max_examples=tries(200))
def test_after_any_events_the_sums_are_those_of_a_fresh_count(
    events: list[tuple[Change, int, bool]], mode: Mode
) -> None:
    world, kept = World(), Counter()
    scope = Scope(msgspec.structs.replace(TARGET, mode=mode), ALL, frozenset({"left-alone"}), "")
    for number in range(4):
        put_node(world, number)
        put_workload(world, number)
    nature.tick(world)
    world.listeners.append(kept.heard)
    kept.look(world.snapshot(*READS), scope)
    for change, number, looks in (*events, (tick, 0, True)):
        change(world, number)
        if looks:
            snapshot = world.snapshot(*READS)
            evicting = sorted(pod.uid for pod in world.all(Pod))[number % 3 :: 3]
            assert kept.look(snapshot, scope, *evicting) == Counter().look(snapshot, scope, *evicting)


def naive(world: World, labels: Labels, namespace: str) -> set[str]:
    """Every budget tried on these labels."""
    tried = [one for one in world.all(PodDisruptionBudget) if one.namespace == namespace]
    return {one.uid for one in tried if one.selector is not None and one.selector.matches(labels)}


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 23)), min_size=10))
@settings(max_examples=tries(100))
def test_after_any_events_a_pod_has_the_budgets_that_select_its_own_labels(
    events: list[tuple[Change, int]],
) -> None:
    world, kept = World(), Counter()
    for number in range(4):
        put_node(world, number)
        put_workload(world, number)
    world.listeners.append(kept.heard)
    for change, number in (*events, (tick, 0), (label_pod, 0), (label_pod, 1)):
        change(world, number)
        evicting = [pod.uid for pod in world.all(Pod)][number % 3 :: 3]
        kept.look(world.snapshot(*READS), Scope(TARGET, ALL, frozenset(), ""), *evicting)
        agree(world, kept.census)


def agree(world: World, census: Census) -> None:
    """The budgets of each pod, and whom each budget covers, are those of every budget tried on every pod."""
    covers: dict[str, set[WorkloadId]] = {}
    for id_, tally in census.tallies.items():
        space = id_.namespace
        by_template = naive(world, tally.row.template_labels, space)
        pods = (*tally.pods, *tally.evicting)
        assert set(tally.budgets) == by_template
        for pod in pods:
            assert set(budgets_of(tally, pod)) == naive(world, pod.labels, space)
        missing = len(tally.pods) < tally.row.replicas or tally.rolling or not pods
        uids = by_template if missing else set[str]()
        for uid in uids.union(*(naive(world, pod.labels, space) for pod in pods)):
            covers.setdefault(uid, set()).add(id_)
    assert {uid: set(those) for uid, those in census.covers.items() if those} == covers


def test_pods_that_share_their_labels_count_each_in_its_own_namespace() -> None:
    world, kept = a_world(), Counter()
    for space in (SPACE, "back", SPACE):
        world.put(
            make(
                Pod,
                "p",
                uid=f"p-{world.number()}",
                namespace=space,
                labels=SHARED_LABELS,
                node="n1",
                phase="Running",
            )
        )
    found = kept.look(world.snapshot(*READS), Scope(TARGET, ALL, frozenset(), ""))
    assert found["peers"] == {SPACE: {SHARED_LABELS: {"n1": 2}}, "back": {SHARED_LABELS: {"n1": 1}}}


@pytest.mark.parametrize(
    ("selector", "covered"),
    [
        (Selector(Labels(app="web")), {"web"}),
        (Selector(Labels(app="web", tier="shared")), {"web"}),
        (Selector(Labels(tier="shared")), {"web", "api"}),
        (Selector(Labels(tier="shared"), (Requirement("app", "NotIn", ("api",)),)), {"web"}),
        (Selector(Labels(), (Requirement("app", "In", ("api", "alone")),)), {"api", "alone"}),
        (Selector(Labels()), {"web", "api", "alone"}),
        (Selector(Labels(app="nobody")), set[str]()),
        (None, set[str]()),
    ],
)
def test_a_budget_covers_whom_its_selector_picks_in_its_namespace(
    selector: Selector | None, covered: set[str]
) -> None:
    world, kept = a_world(), Counter()
    for name, tier in (("web", "shared"), ("api", "shared"), ("alone", "")):
        world.workload(WorkloadKind.DEPLOYMENT, name, 1, tier=tier)
        world.workload(WorkloadKind.DEPLOYMENT, name, 1, "elsewhere", tier=tier)
    world.put(make(PodDisruptionBudget, "b", namespace=SPACE, selector=selector))
    kept.look(world.snapshot(*READS), Scope(TARGET, ALL, frozenset(), ""))
    expected = {WorkloadId("Deployment", SPACE, name) for name in covered}
    assert {
        id_: len(one.budgets) for id_, one in kept.census.tallies.items() if one.budgets
    } == dict.fromkeys(expected, 1)
    assert {id_ for those in kept.census.covers.values() for id_ in those} == expected


def test_a_budget_whose_labels_come_in_another_order_stays_one_budget() -> None:
    world, kept = a_world(), Counter()
    scope = Scope(TARGET, ALL, frozenset(), "")
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 1, tier="shared")
    world.listeners.append(kept.heard)
    for labels in ({"app": "web", "tier": "shared"}, {"tier": "shared", "app": "web"}):
        world.put(make(PodDisruptionBudget, "b", namespace=SPACE, selector=Selector(Labels(labels))))
        nature.tick(world)
        kept.look(world.snapshot(*READS), scope)
    world.put(msgspec.structs.replace(world.row_of(id_), replicas=2))
    kept.look(world.snapshot(*READS), scope)
    assert len(kept.census.tallies[id_].budgets) == 1
    world.remove(world.all(PodDisruptionBudget)[0])
    kept.look(world.snapshot(*READS), scope)
    assert kept.census.tallies[id_].budgets == ()


def test_many_kinds_of_pods_are_not_remembered_for_ever() -> None:
    """And a room never gives two answers for one kind."""
    world, census = a_world(), Census()
    census.refresh(world.snapshot(*READS), Scope(TARGET, ALL, frozenset(), ""), [])
    usual = Demand.of(PodSpec())
    first = census.room(Role.TARGET)
    slots = first.slots(usual, ())
    for number in range(500):
        first.slots(Demand.of(PodSpec(node_selector=Labels(disk=str(number)))), ())
    assert first.slots(usual, ()) is slots
    after = census.room(Role.TARGET).slots(usual, ())
    assert after is not slots
    assert census.room(Role.TARGET).slots(usual, ()) is after


def test_a_pod_that_is_being_evicted_is_leaving_before_it_shows() -> None:
    world, kept = a_world(), Counter()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 3)
    nature.settle(world)
    snapshot, scope = world.snapshot(*READS), Scope(TARGET, ALL, frozenset(), "")
    kept.look(snapshot, scope)
    before = kept.census.tallies[id_]
    one, *others = before.pods
    kept.look(snapshot, scope, one.uid)
    now = kept.census.tallies[id_]
    assert (now.evicting, now.leaving, now.ready, now.complete) == ((one,), 1, 2, False)
    assert set(now.pods) == set(others)
    assert one not in now.away
    kept.look(snapshot, scope)
    assert kept.census.tallies[id_] == before


def test_a_deployment_that_let_go_of_a_replica_set_is_not_rolled_out_for_ever() -> None:
    """Somebody changes the labels of its ReplicaSet: the Deployment makes another one instead."""
    world, kept = a_world(), Counter()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    scope = Scope(TARGET, ALL, frozenset(), "")
    kept.look(world.snapshot(*READS), scope)
    world.listeners.append(kept.heard)
    (old,) = world.all(ReplicaSet)
    world.put(msgspec.structs.replace(old, uid="another", name="web-another"))
    kept.look(world.snapshot(*READS), scope)
    assert kept.census.tallies[id_].rolling
    world.put(msgspec.structs.replace(old, owners=()))
    kept.look(world.snapshot(*READS), scope)
    assert not kept.census.tallies[id_].rolling
    assert kept.census.tallies[id_].pods == ()


def test_another_scope_counts_all_again() -> None:
    world, kept = a_world(), Counter()
    world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    snapshot = world.snapshot(*READS)
    for scope in (
        Scope(TARGET, ALL, frozenset(), ""),
        Scope(Target(OLD, Mode.INJECT, Reason.MOVING), ALL, frozenset(), ""),
        Scope(TARGET, ALL, frozenset({SPACE}), ""),
        Scope(TARGET, Selector(Labels(pool="other")), frozenset(), "old-1"),
    ):
        assert kept.look(snapshot, scope) == Counter().look(snapshot, scope)


# --- looking ---


class Counted:
    """A store that counts how often somebody looks."""

    def __init__(self, world: World) -> None:
        self.looks = 0
        self._world = world

    def snapshot(self, *of: kinds.Kind) -> Snapshot:
        self.looks += 1
        return self._world.snapshot(*of)


def watched(world: World) -> tuple[Observer, Counted]:
    store = Counted(world)
    observer = Observer(cast("Store", store), lambda: True)
    world.listeners.append(observer.heard)
    return observer, store


def test_while_nothing_is_to_be_moved_pods_that_come_and_go_cost_no_look() -> None:
    world = a_world()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    observer, store = watched(world)
    first = observer.observe(Outcomes())
    nature.delete(world, world.pods(id_)[0])
    nature.settle(world)
    assert observer.observe(Outcomes()) is first
    assert store.looks == 1
    assert not first.tallies


@pytest.mark.parametrize("change", ["node", "budget", "placement", "migration"])
def test_what_could_begin_or_leave_something_is_looked_at_even_when_idle(change: str) -> None:
    world = a_world()
    observer, store = watched(world)
    observer.observe(Outcomes())
    if change == "node":
        world.node("late")
    elif change == "budget":
        world.budget("b", {"app": "web"}, {"maxUnavailable": 1})
    elif change == "migration":
        world.migrate(paused=True)
    else:
        world.write_placement(SPACE, WorkloadPlacementSpec(target=NEW))
    observer.observe(Outcomes())
    assert store.looks == 2
