"""Counting event by event gives what counting afresh gives."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.decide import make
from shiplift.api.workloads import Mode, WorkloadKind
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod, PodSpec
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import ReplicaSet
from shiplift.room.node_room import Demand
from shiplift.workloads.model import Reason, Role, Target
from shiplift.workloads.observe.census import Census
from shiplift.workloads.observe.observer import READS, Scope
from tests.examples import tries
from tests.model import nature
from tests.workloads.changes import CHANGES, SHARED_LABELS, Change, populated, tick
from tests.workloads.counting import ALL, SCOPE, TARGET, Counter
from tests.workloads.world import OLD, SPACE, a_world


@given(
    st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 23), st.booleans()), min_size=10),
    st.sampled_from((Mode.INJECT, Mode.TEMPLATE)),
)
@settings(max_examples=tries(200))
def test_after_any_events_the_sums_are_those_of_a_fresh_count(
    events: list[tuple[Change, int, bool]], mode: Mode
) -> None:
    world, kept = populated(), Counter()
    scope = Scope(msgspec.structs.replace(TARGET, mode=mode), ALL, frozenset({"left-alone"}), "")
    nature.tick(world)
    world.listeners.append(kept.heard)
    kept.look(world.snapshot(*READS), scope)
    for change, number, looks in (*events, (tick, 0, True)):
        change(world, number)
        if looks:
            snapshot = world.snapshot(*READS)
            evicting = sorted(pod.uid for pod in world.all(Pod))[number % 3 :: 3]
            assert kept.look(snapshot, scope, *evicting) == Counter().look(snapshot, scope, *evicting)


def test_another_scope_counts_all_again() -> None:
    world, kept = a_world(), Counter()
    world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    snapshot = world.snapshot(*READS)
    for scope in (
        SCOPE,
        Scope(Target(OLD, Mode.INJECT, Reason.MOVING), ALL, frozenset(), ""),
        Scope(TARGET, ALL, frozenset({SPACE}), ""),
        Scope(TARGET, Selector(Labels(pool="other")), frozenset(), "old-1"),
    ):
        assert kept.look(snapshot, scope) == Counter().look(snapshot, scope)


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
    found = kept.look(world.snapshot(*READS), SCOPE)
    assert found["peers"] == {SPACE: {SHARED_LABELS: {"n1": 2}}, "back": {SHARED_LABELS: {"n1": 1}}}


def test_many_kinds_of_pods_are_not_remembered_for_ever() -> None:
    """And a room never gives two answers for one kind."""
    world, census = a_world(), Census()
    census.refresh(world.snapshot(*READS), SCOPE, [])
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
    snapshot = world.snapshot(*READS)
    kept.look(snapshot, SCOPE)
    before = kept.census.tallies[id_]
    one, *others = before.pods
    kept.look(snapshot, SCOPE, one.uid)
    now = kept.census.tallies[id_]
    assert (now.evicting, now.leaving, now.ready, now.complete) == ((one,), 1, 2, False)
    assert set(now.pods) == set(others)
    assert one not in now.away
    kept.look(snapshot, SCOPE)
    assert kept.census.tallies[id_] == before


def test_a_deployment_that_let_go_of_a_replica_set_is_not_rolled_out_for_ever() -> None:
    """Somebody changes the labels of its ReplicaSet: the Deployment makes another one instead."""
    world, kept = a_world(), Counter()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    kept.look(world.snapshot(*READS), SCOPE)
    world.listeners.append(kept.heard)
    (old,) = world.all(ReplicaSet)
    world.put(msgspec.structs.replace(old, uid="another", name="web-another"))
    kept.look(world.snapshot(*READS), SCOPE)
    assert kept.census.tallies[id_].rolling
    world.put(msgspec.structs.replace(old, owners=()))
    kept.look(world.snapshot(*READS), SCOPE)
    assert not kept.census.tallies[id_].rolling
    assert kept.census.tallies[id_].pods == ()
