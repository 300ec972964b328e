"""Budgets cover pods by the labels of each; the index finds what trying every budget on every pod finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Requirement, Selector
from shiplift.facts.workloads import Deployment, PodDisruptionBudget
from shiplift.pdb.coverage import budgets_of, covered, covering, one_of_each
from shiplift.pdb.index import BudgetIndex
from shiplift.workloads.model import Tally
from tests.view.rows import make
from tests.workloads.databases import a_database, named
from tests.workloads.views import change, look, tally
from tests.workloads.world import SPACE, World

VALUES = st.sampled_from(("", "a", "b"))
KEYS = ("app", "role", "tier")
LABELS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3).map(Labels)
REQUIREMENTS = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.tuples(VALUES),
)
SELECTORS = st.none() | st.builds(Selector, LABELS, st.lists(REQUIREMENTS, max_size=2).map(tuple))


@given(
    st.lists(st.tuples(st.integers(0, 4), SELECTORS), max_size=12),
    LABELS,
    st.lists(LABELS, min_size=1, max_size=6),
    st.none() | st.sets(st.sampled_from(KEYS)),
)
def test_a_pod_has_the_budgets_that_select_its_labels_however_budgets_came_and_went(
    events: list[tuple[int, Selector | None]], template: Labels, labels: list[Labels], fixed: set[str] | None
) -> None:
    """What the selector of its owner asks for no pod can differ in; all else it can."""
    index, there = BudgetIndex(), dict[str, PodDisruptionBudget]()
    for number, selector in events:
        uid = f"b{number}"
        if (known := there.pop(uid, None)) is not None:
            index.drop(known)
        if known is None or number % 2:
            there[uid] = make(PodDisruptionBudget, uid, uid=uid, namespace=SPACE, selector=selector)
            index.put(there[uid])
            index.put(there[uid])
    picked = Labels({key: value for key, value in template.items() if key in (fixed or ())})
    pods = [
        make(Pod, f"p{number}", uid=f"p{number}", labels=Labels({**own, **picked}))
        for number, own in enumerate(labels)
    ]
    cover = index.cover(owner(template, None if fixed is None else Selector(picked)), pods)
    assert set(cover.budgets) == tried(there, template)
    for pod in pods:
        assert set(cover.apart.get(pod.uid, cover.budgets)) == tried(there, pod.labels)
        assert pod.uid in cover.apart or tried(there, pod.labels) == set(cover.budgets)


def owner(template: Labels, selector: Selector | None = None, namespace: str = SPACE) -> Deployment:
    return make(Deployment, "web", namespace=namespace, template_labels=template, selector=selector)


def tried(budgets: dict[str, PodDisruptionBudget], labels: Labels) -> set[str]:
    return {uid for uid, one in budgets.items() if one.selector is not None and one.selector.matches(labels)}


def test_pods_that_end_or_have_ended_have_no_budget_of_their_own() -> None:
    index = BudgetIndex()
    index.put(make(PodDisruptionBudget, "b", uid="b", namespace=SPACE, selector=Selector(Labels(role="a"))))
    labels = Labels(role="a")
    pods = [
        make(Pod, "stays", uid="stays", labels=labels),
        make(Pod, "goes", uid="goes", labels=labels, deleting=1),
        make(Pod, "ended", uid="ended", labels=labels, phase="Failed"),
    ]
    assert index.cover(owner(Labels()), pods).apart == {"stays": ("b",)}
    assert index.cover(owner(Labels(), namespace="elsewhere"), pods).apart == {}


# --- what a workload has all together ---


def names(world: World, uids: tuple[str, ...]) -> list[str]:
    return sorted(one.name for one in world.all(PodDisruptionBudget) if one.uid in uids)


@pytest.mark.parametrize(
    ("roles", "template", "expected"),
    [
        (("", "", ""), "", []),
        (("primary", "replica", "replica"), "", ["primary", "replica"]),
        (("primary", "", ""), "", ["primary"]),
        (("primary", "primary"), "replica", ["primary"]),
        (("primary", ""), "primary", ["primary"]),
    ],
)
def test_a_workload_has_the_budgets_of_all_its_pods(
    roles: tuple[str, ...], template: str, expected: list[str]
) -> None:
    world = a_database(*roles, template=template)
    assert names(world, covering(the_tally(world))) == expected


def the_tally(world: World) -> Tally:
    return tally(look(world), "db")


@pytest.mark.parametrize("how", ["fewer pods than replicas", "a rollout"])
def test_a_pod_that_is_going_to_be_made_counts_by_the_template(how: str) -> None:
    world = a_database("primary", "primary", template="replica")
    values = {"replicas": 3} if how == "fewer pods than replicas" else {"generation": 2}
    change(world, "db", **values)
    assert names(world, covering(the_tally(world))) == ["primary", "replica"]


def test_each_pod_has_its_own_budgets_and_each_budget_its_own_pods() -> None:
    world = a_database("primary", "replica", "", "replica")
    one = the_tally(world)
    found = {pod.name: names(world, budgets_of(one, pod)) for pod in one.pods}
    assert found == {"db-0": ["primary"], "db-1": ["replica"], "db-2": [], "db-3": ["replica"]}
    assert [pod.name for pod in covered(one, named(world, "primary").uid)] == ["db-0"]
    first = one_of_each(one, sorted(one.pods, key=lambda pod: pod.name))
    assert [pod.name for pod in first] == ["db-0", "db-1", "db-2"]
