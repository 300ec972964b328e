"""Which pods are evicted now, which wait, when it is over; and that it comes to an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.nodes import Blocker
from shiplift.drain.blocking import Refusal
from shiplift.drain.filters import judge_all
from shiplift.drain.holds import MIGRATION
from shiplift.drain.model import Why
from shiplift.drain.plan import MOST_BLOCKERS, Plan, Scene, blockers, plan, spending
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from tests.drain.pods import DAEMON_SET, NOW, a_budget, a_pod, around

OTHER = {"app": "other"}


def a_scene(pods: Iterable[Pod], *budgets: PodDisruptionBudget, **more: Any) -> Scene:
    def covering(pod: Pod) -> list[PodDisruptionBudget]:
        return [one for one in budgets if one.namespace == pod.namespace and one.selects(pod.labels)]

    known: dict[str, Any] = {"replicas": lambda _: 2}
    return Scene(judged=judge_all(pods, around()), covering=covering, now=NOW, **known | more)


def pods(count: int, **more: Any) -> list[Pod]:
    return [a_pod(f"web-{number}", **more) for number in range(count)]


def evicted(found: Plan) -> list[str]:
    return [one.pod.name for one in found.evictions]


def waits(found: Plan) -> dict[str, Why]:
    return {one.pod.name: one.why for one in found.waits}


def test_pods_without_a_budget_go_side_by_side() -> None:
    found = plan(a_scene(pods(3)))
    assert evicted(found) == ["web-0", "web-1", "web-2"]
    assert {one.lane for one in found.evictions} == {""}
    assert found.may_begin


def test_of_a_budget_as_many_go_as_it_has_to_give_in_one_lane() -> None:
    budget = a_budget(allowed=2)
    found = plan(a_scene(pods(3), budget))
    assert evicted(found) == ["web-0", "web-1"]
    assert {one.lane for one in found.evictions} == {budget.uid}
    assert waits(found) == {"web-2": Why.AFTER_OTHERS}
    assert found.waits[0].message == "PodDisruptionBudget shop/web lets other pods go first"
    assert blockers(found, NOW) == ()


def test_evictions_under_way_are_counted_and_not_sent_again() -> None:
    found = plan(a_scene(pods(3), a_budget(allowed=2), evicting={"web-0"}))
    assert evicted(found) == ["web-1"]
    assert [pod.name for pod in found.going] == ["web-0"]
    assert waits(found) == {"web-2": Why.AFTER_OTHERS}


def test_two_nodes_that_are_drained_together_do_not_spend_a_budget_twice() -> None:
    budget = a_budget(allowed=1)
    first = plan(a_scene([a_pod("web-0")], budget))
    assert spending(first) == {budget.uid: 1}
    second = plan(a_scene([a_pod("web-1")], budget, spent=spending(first)))
    assert (evicted(second), waits(second)) == ([], {"web-1": Why.AFTER_OTHERS})
    assert spending(plan(a_scene([a_pod(ready=False)], budget))) == {}


def test_a_pod_that_is_not_ready_takes_nothing_of_its_budget_and_goes_first() -> None:
    found = plan(a_scene([*pods(2), a_pod("web-9", ready=False)], a_budget(allowed=1)))
    assert evicted(found) == ["web-9", "web-0"]


def test_what_another_budget_has_is_no_business_of_this_one() -> None:
    found = plan(a_scene([a_pod("web-0"), a_pod("other-0", labels=OTHER)], a_budget()))
    assert evicted(found) == ["other-0"]
    assert waits(found) == {"web-0": Why.BUDGET_EXHAUSTED}


def test_the_operators_own_pod_goes_when_no_other_is_left() -> None:
    def is_operator(pod: Pod) -> bool:
        return pod.name == "operator"

    own = a_pod("operator", labels=OTHER)
    found = plan(a_scene([own, a_pod()], goes_last=is_operator))
    assert (evicted(found), waits(found)) == (["web-1"], {"operator": Why.LAST})
    found = plan(a_scene([own, a_pod(deleting=NOW)], goes_last=is_operator))
    assert (evicted(found), waits(found)) == ([], {"operator": Why.LAST})
    assert evicted(plan(a_scene([own], goes_last=is_operator))) == ["operator"]


def test_a_pod_that_is_held_waits_and_the_others_go() -> None:
    held = a_scene(pods(2), hold=lambda pod: MIGRATION if pod.name == "web-0" else None)
    found = plan(held)
    assert (evicted(found), waits(found)) == (["web-1"], {"web-0": Why.HELD})


@pytest.mark.parametrize(("again", "expected"), [(NOW + 1, []), (NOW, ["web-1"])])
def test_a_refused_pod_is_tried_again_when_its_time_has_come(again: int, expected: list[str]) -> None:
    found = plan(a_scene([a_pod()], refusals={"web-1": Refusal("busy", again)}))
    assert evicted(found) == expected
    assert not found.stuck


@pytest.mark.parametrize(
    ("scene", "over"),
    [
        (a_scene([]), True),
        (a_scene([a_pod(owner=DAEMON_SET)]), True),
        (a_scene([], volumes=("pv-1",)), False),
        (a_scene([a_pod(deleting=NOW)]), False),
        (a_scene([a_pod()]), False),
        (a_scene([a_pod(owner=None)]), False),
    ],
)
def test_it_is_over_when_pods_are_gone_and_volumes_detached(scene: Scene, over: bool) -> None:
    assert plan(scene).over is over


NEVER = a_budget(expected_pods=2)


@pytest.mark.parametrize(
    ("found", "may_begin", "stuck"),
    [
        (plan(a_scene([a_pod()], NEVER)), False, True),
        (plan(a_scene([a_pod(), a_pod("other", labels=OTHER)], NEVER)), False, False),
        (plan(a_scene([a_pod(), a_pod("other", labels=OTHER, deleting=NOW)], NEVER)), False, False),
        (plan(a_scene([a_pod()], a_budget())), True, False),
        (plan(a_scene([a_pod(owner=None)])), False, True),
        (
            plan(
                a_scene(
                    [a_pod(), a_pod("operator", labels=OTHER)], NEVER, goes_last=lambda p: p.name != "web-1"
                )
            ),
            False,
            True,
        ),
        (plan(a_scene([])), True, False),
    ],
)
def test_a_drain_that_would_never_end_is_known_before_it_begins(
    found: Plan, may_begin: bool, stuck: bool
) -> None:
    assert (found.may_begin, found.stuck) == (may_begin, stuck)


def test_a_budget_is_not_said_to_let_none_go_for_ever_where_a_pod_may_be_on_its_way() -> None:
    """Its status counts the pods that are there: one that was evicted has not been made again yet."""
    for replicas in (None, 3):
        found = plan(a_scene([a_pod()], NEVER, replicas=lambda _, known=replicas: known))
        assert (waits(found), found.stuck) == ({"web-1": Why.BUDGET_EXHAUSTED}, False)


def test_what_is_in_the_way_is_told_as_a_status_wants_it() -> None:
    late = a_pod("late", labels=OTHER, deleting=NOW - 40, finalizers=("example.com/wait",))
    bare = a_pod("bare", owner=None, labels=OTHER)
    found = plan(a_scene([a_pod(), late, bare, a_pod("ends", labels=OTHER, deleting=NOW - 20)], a_budget()))
    assert blockers(found, NOW) == (
        Blocker(
            pod="shop/web-1",
            budget="shop/web",
            message="PodDisruptionBudget shop/web needs 2 healthy pods and has just 2;"
            " 1 more of its pods has to become Ready",
        ),
        Blocker(pod="shop/bare", message="nobody brings it back"),
        Blocker(
            pod="shop/late",
            message="it should have ended 40 s ago: finalizer example.com/wait keeps it",
        ),
    )


def test_where_all_pods_are_healthy_none_is_waited_for() -> None:
    found = plan(a_scene([a_pod()], NEVER, replicas=lambda _: None))
    (blocker,) = blockers(found, NOW)
    assert blocker.message == (
        "PodDisruptionBudget shop/web needs 2 healthy pods and has just 2;"
        " run one replica more, or let the budget allow one pod to be unavailable"
    )


def test_an_eviction_that_was_granted_and_not_carried_out_is_no_call_for_more_pods() -> None:
    found = plan(a_scene([a_pod()], a_budget(current_healthy=1, disrupted_pods=("web-1",))))
    (blocker,) = blockers(found, NOW)
    assert blocker.message == (
        "PodDisruptionBudget shop/web needs 2 healthy pods and has 1;"
        " an eviction of it was granted and not carried out; that counts for two minutes at most"
    )


def test_another_pod_that_is_taken_for_evicted_is_named() -> None:
    budget = a_budget(disrupted_pods=("web-2",))
    found = plan(a_scene([a_pod()], budget, taken=lambda one: one.disrupted_pods))
    (blocker,) = blockers(found, NOW)
    assert blocker.message.endswith(
        "; it takes pod web-2, which is there, for evicted; that counts for two minutes at most"
    )


def test_no_more_blockers_are_told_than_a_status_holds() -> None:
    long = [a_pod(f"{'x' * 253}-{number}", namespace="n" * 63, owner=None) for number in range(30)]
    found = blockers(plan(a_scene(long)), NOW)
    assert len(found) == MOST_BLOCKERS
    assert msgspec.json.decode(msgspec.json.encode(found), type=tuple[Blocker, ...]) == found


LABELS = st.sampled_from([{"app": "web"}, {"app": "other"}, {"app": "web", "tier": "two"}])
PODS = st.lists(
    st.builds(
        a_pod,
        st.sampled_from([f"pod-{number}" for number in range(8)]),
        labels=LABELS,
        ready=st.booleans(),
        phase=st.sampled_from(["Pending", "Running", "Failed"]),
        deleting=st.sampled_from([0, 0, NOW]),
    ),
    unique_by=lambda pod: pod.uid,
    max_size=8,
)
BUDGETS = st.lists(
    st.builds(
        a_budget,
        st.sampled_from(["web", "other", "two"]),
        selects=st.sampled_from([{"app": "web"}, {"app": "other"}, {"tier": "two"}]),
        allowed=st.integers(0, 3),
        expected_pods=st.sampled_from([2, 6]),
        generation=st.sampled_from([1, 1, 2]),
    ),
    unique_by=lambda budget: budget.uid,
    max_size=3,
)


@given(PODS, BUDGETS, st.sets(st.sampled_from([f"pod-{number}" for number in range(8)])))
def test_each_pod_has_one_place_and_no_budget_gives_more_than_it_has(
    there: list[Pod], budgets: list[PodDisruptionBudget], evicting: set[str]
) -> None:
    scene = a_scene(there, *budgets, evicting=evicting)
    found = plan(scene)
    placed = [one.pod.uid for one in (*found.evictions, *found.waits, *found.left, *found.cannot)]
    assert sorted([*placed, *(pod.uid for pod in found.going)]) == sorted(pod.uid for pod in there)
    sent = Counter(one.lane for one in found.evictions if one.pod.ready and one.pod.phase == "Running")
    for budget in budgets:
        assert sent[budget.uid] <= budget.disruptions_allowed


@given(PODS, st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_a_drain_whose_budgets_give_something_now_and_then_ends(there: list[Pod], gives: list[int]) -> None:
    left = list(there)
    for turn in range(30):
        budget = a_budget(allowed=gives[turn % len(gives)] if turn % 2 else 1, expected_pods=6)
        found = plan(a_scene(left, budget))
        if found.over:
            return
        assert not found.stuck
        gone = {one.pod.uid for one in found.evictions} | {pod.uid for pod in found.going}
        left = [pod for pod in left if pod.uid not in gone]
    raise AssertionError(f"{len(left)} pods are left")
