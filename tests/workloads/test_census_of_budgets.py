"""Which PodDisruptionBudgets a census finds for each pod, and whom it finds each of them to cover."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.decide import make
from shiplift.api.workloads import WorkloadKind
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Requirement, Selector
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.coverage import budgets_of
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.census import Census
from shiplift.workloads.observe.observer import READS
from tests.examples import tries
from tests.model import nature
from tests.workloads.changes import CHANGES, Change, label_pod, populated, tick
from tests.workloads.counting import SCOPE, Counter
from tests.workloads.world import SPACE, World, a_world


def naive(world: World, labels: Labels, namespace: str) -> set[str]:
    """Every budget tried on these labels."""
    tried = [one for one in world.all(PodDisruptionBudget) if one.namespace == namespace]
    return {one.uid for one in tried if one.selector is not None and one.selector.matches(labels)}


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 23)), min_size=10))
@settings(max_examples=tries(100))
def test_after_any_events_a_pod_has_the_budgets_that_select_its_own_labels(
    events: list[tuple[Change, int]],
) -> None:
    world, kept = populated(), Counter()
    world.listeners.append(kept.heard)
    for change, number in (*events, (tick, 0), (label_pod, 0), (label_pod, 1)):
        change(world, number)
        evicting = [pod.uid for pod in world.all(Pod)][number % 3 :: 3]
        kept.look(world.snapshot(*READS), SCOPE, *evicting)
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
    assert {uid: set(those) for uid, those in census.covers.workloads.items() if those} == covers


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
    kept.look(world.snapshot(*READS), SCOPE)
    expected = {WorkloadId("Deployment", SPACE, name) for name in covered}
    assert {
        id_: len(one.budgets) for id_, one in kept.census.tallies.items() if one.budgets
    } == dict.fromkeys(expected, 1)
    assert {id_ for those in kept.census.covers.workloads.values() for id_ in those} == expected


def test_a_budget_whose_labels_come_in_another_order_stays_one_budget() -> None:
    world, kept = a_world(), Counter()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 1, tier="shared")
    world.listeners.append(kept.heard)
    for labels in ({"app": "web", "tier": "shared"}, {"tier": "shared", "app": "web"}):
        world.put(make(PodDisruptionBudget, "b", namespace=SPACE, selector=Selector(Labels(labels))))
        nature.tick(world)
        kept.look(world.snapshot(*READS), SCOPE)
    world.put(msgspec.structs.replace(world.row_of(id_), replicas=2))
    kept.look(world.snapshot(*READS), SCOPE)
    assert len(kept.census.tallies[id_].budgets) == 1
    world.remove(world.all(PodDisruptionBudget)[0])
    kept.look(world.snapshot(*READS), SCOPE)
    assert kept.census.tallies[id_].budgets == ()
