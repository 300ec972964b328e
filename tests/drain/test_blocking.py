"""What keeps a pod that is to go, and what would let it go, in words."""

from __future__ import annotations

import pytest

from shiplift.api.marks import HOLD_LEDGER, HOLD_PREFIX, MANAGED_BY, MANAGER, QUORUM_HOLD
from shiplift.api.placements import Turn
from shiplift.drain import holds
from shiplift.drain.blocking import Question, Refusal, keeping
from shiplift.drain.model import Wait, Why
from shiplift.facts.meta import Condition, Labels, Owner
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import ALWAYS_ALLOW, allowed_alone
from tests.drain.pods import NOW, STATEFUL_SET, a_budget, a_pod

HELD = "held by WorkloadMigration cluster: its turn has not come"
UNCOUNTABLE = Condition(
    "DisruptionAllowed",
    "False",
    "SyncFailed",
    "rollouts.argoproj.io does not implement the scale subresource",
)


def kept(pod: Pod, *budgets: PodDisruptionBudget, refusal: Refusal | None = None) -> Wait | None:
    left = allowed_alone(budgets[0]) if len(budgets) == 1 else 0
    return keeping(Question(pod, budgets, left, replicas=lambda _: 2, refusal=refusal))


@pytest.mark.parametrize(
    ("pod", "budgets"),
    [
        (a_pod(), []),
        (a_pod(), [a_budget(allowed=1)]),
        (a_pod(phase="Pending", ready=False), [a_budget()]),
        (a_pod(phase="Pending", ready=False), [a_budget(), a_budget("two")]),
        (a_pod(phase="Failed", ready=False), [a_budget()]),
        (a_pod(phase="Failed", ready=False), [a_budget(annotations=Labels({HOLD_LEDGER: "{}"}))]),
        (a_pod(ready=False), [a_budget()]),
        (a_pod(ready=False), [a_budget(expected_pods=2)]),
        (a_pod(ready=False), [a_budget(current_healthy=0, unhealthy_policy=ALWAYS_ALLOW)]),
    ],
)
def test_nothing_keeps_a_pod_that_the_api_server_would_evict(
    pod: Pod, budgets: list[PodDisruptionBudget]
) -> None:
    assert kept(pod, *budgets) is None


@pytest.mark.parametrize(
    ("budgets", "why", "message", "unblocks"),
    [
        (
            [a_budget()],
            Why.BUDGET_EXHAUSTED,
            "PodDisruptionBudget shop/web needs 2 healthy pods and has just 2",
            "1 more of its pods has to become Ready",
        ),
        (
            [a_budget(current_healthy=1)],
            Why.BUDGET_EXHAUSTED,
            "PodDisruptionBudget shop/web needs 2 healthy pods and has 1",
            "2 more of its pods have to become Ready",
        ),
        (
            [a_budget(current_healthy=3)],
            Why.BUDGET_EXHAUSTED,
            "PodDisruptionBudget shop/web needs 2 healthy pods and has 3",
            "it counts an eviction that is still under way, for two minutes at most",
        ),
        (
            [a_budget(allowed=1, generation=2)],
            Why.BUDGET_EXHAUSTED,
            "PodDisruptionBudget shop/web was changed and has not been looked at by its controller yet",
            "its controller looks at it within seconds, where one runs",
        ),
        (
            [a_budget(expected_pods=2)],
            Why.NEVER_EVICTABLE,
            "PodDisruptionBudget shop/web needs 2 of 2 pods healthy: it never lets one go",
            "run one replica more, or let the budget allow one pod to be unavailable",
        ),
        (
            [a_budget(expected_pods=2, min_available=None, max_unavailable=0)],
            Why.NEVER_EVICTABLE,
            "PodDisruptionBudget shop/web needs 2 of 2 pods healthy: it never lets one go",
            "let the budget allow one pod to be unavailable: what it needs grows with the replicas",
        ),
        (
            [a_budget(), a_budget("two")],
            Why.TWO_BUDGETS,
            "PodDisruptionBudgets shop/two and shop/web both select pod shop/web-1",
            "leave one PodDisruptionBudget that selects it",
        ),
        (
            [a_budget(conditions=(UNCOUNTABLE,))],
            Why.BUDGET_NOT_COUNTED,
            "PodDisruptionBudget shop/web lets no pod go: it cannot be counted"
            " (rollouts.argoproj.io does not implement the scale subresource);"
            " let it cover other pods, or set its minAvailable to a number",
            "let the budget cover other pods, or set its minAvailable to a number",
        ),
    ],
)
def test_a_budget_that_keeps_a_pod_is_named_with_what_would_help(
    budgets: list[PodDisruptionBudget], why: Why, message: str, unblocks: str
) -> None:
    found = kept(a_pod(), *budgets)
    assert found is not None
    assert (found.why, found.message, found.unblocks) == (why, message, unblocks)
    assert found.budgets == tuple(sorted(f"shop/{one.name}" for one in budgets))
    never = (Why.TWO_BUDGETS, Why.NEVER_EVICTABLE, Why.BUDGET_NOT_COUNTED)
    assert found.for_ever is (why in never)


def test_an_unready_pod_is_kept_by_two_budgets_all_the_same() -> None:
    found = kept(a_pod(ready=False), a_budget(), a_budget("two"))
    assert found is not None
    assert found.why is Why.TWO_BUDGETS


def test_an_unready_pod_waits_where_too_few_others_are_healthy() -> None:
    found = kept(a_pod(ready=False), a_budget(current_healthy=1))
    assert found is not None
    assert found.why is Why.BUDGET_EXHAUSTED


MADE = a_budget(f"{HOLD_PREFIX}deployment-web", labels=Labels({MANAGED_BY: MANAGER}), max_unavailable=0)
TAKEN = a_budget(annotations=Labels({HOLD_LEDGER: "{}"}), min_available="100%", desired_healthy=3)


@pytest.mark.parametrize("budget", [MADE, TAKEN])
def test_a_hold_of_a_migration_is_named_as_such_and_is_not_for_ever(budget: PodDisruptionBudget) -> None:
    found = kept(a_pod(), budget)
    assert found is not None
    assert (found.why, found.message, found.for_ever) == (Why.HELD, HELD, False)
    assert found.unblocks == "shiplift status tells when its turn comes; shiplift abort ends the migration"


def test_a_pod_that_was_refused_is_left_alone_for_as_long_as_that_counts() -> None:
    found = kept(a_pod(), refusal=Refusal("the server is busy", NOW + 1))
    assert found is not None
    assert (found.why, found.message) == (Why.REFUSED, "the server is busy")


@pytest.mark.parametrize(
    ("answer", "budgets"),
    [
        ("admission webhook example.com denied the request", ()),
        ("Cannot evict pod as it would violate the pod's disruption budget.", ("shop/web",)),
    ],
)
def test_a_budget_is_named_for_a_refusal_only_where_it_is_one(answer: str, budgets: tuple[str, ...]) -> None:
    found = kept(a_pod(), a_budget(allowed=1), refusal=Refusal(answer, NOW + 1))
    assert found is not None
    assert found.budgets == budgets


OF_WEB = Owner("ReplicaSet", "web-5d8f", "rs", controller=True, api_version="apps/v1")
HASHED = {"app": "web", holds.TEMPLATE_HASH: "5d8f"}


@pytest.mark.parametrize(
    ("pod", "key"),
    [
        (a_pod(owner=OF_WEB, labels=HASHED), "Deployment.web"),
        (a_pod(owner=OF_WEB), ""),
        (a_pod(owner=STATEFUL_SET), "StatefulSet.db"),
        (a_pod(owner=None), ""),
        (a_pod(owner=Owner("StatefulSet", "db", "x", controller=True, api_version="apps.kruise.io/v1")), ""),
    ],
)
def test_a_pod_is_found_in_a_placement_by_its_workload(pod: Pod, key: str) -> None:
    assert holds.owner_key(pod) == key
    assert bool(holds.by_placement(pod, {key or "Deployment.web": Turn.HELD})) is bool(key)
    assert holds.by_placement(pod, {key: Turn.RELEASED}) is None


def test_a_quorum_service_that_swaps_its_binary_is_named() -> None:
    pod = a_pod(owner=STATEFUL_SET)
    found = holds.by_quorum(pod, {QUORUM_HOLD: "minio"})
    assert str(found) == "held by QuorumService shop/minio: its binary is being swapped on all members"
    assert holds.by_quorum(pod, {}) is None
