"""The migration benchmark: its plan, its bound, its figures, and a tiny run against a real cluster."""

from __future__ import annotations

import pytest

from benchmarks.migrate.bound import Bound, bound, longest, rate_of
from benchmarks.migrate.contenders import Name
from benchmarks.migrate.figures import AT_MOST, BELOW, Contest, figures, table, verdict
from benchmarks.migrate.manifests import budget as budget_manifest
from benchmarks.migrate.manifests import orders
from benchmarks.migrate.plan import FULL, SHORT, USUAL, Budget, Kind, Size, Workload, plan
from benchmarks.migrate.run import run
from benchmarks.rig.accounts import Account

pytestmark = pytest.mark.long(seconds=35)

MOVE = {Kind.DEPLOYMENT: 2.0, Kind.STATEFUL_SET: 4.0}


def a_workload(
    name: str,
    replicas: int = 2,
    *after: str,
    kind: Kind = Kind.DEPLOYMENT,
    budget: Budget | None = None,
) -> Workload:
    return Workload(name, "shop", kind, 0, replicas, budget, after, ready_after=2.0)


# --- the plan ---


@pytest.mark.parametrize("size", [SHORT, USUAL, FULL, Size(nodes=3, pods=14, workloads=4, depth=2)])
def test_a_plan_has_the_pods_workloads_and_depth_that_were_asked_for(size: Size) -> None:
    workloads = plan(size)
    assert plan(size) == workloads
    assert len(workloads) == size.workloads
    assert sum(one.replicas for one in workloads) == size.pods
    assert min(one.replicas for one in workloads) >= 2
    assert longest([a_workload(one.name, 1, *one.depends_on) for one in workloads], MOVE) == 2.0 * size.depth


def test_most_workloads_have_a_budget_that_always_lets_somebody_go() -> None:
    workloads = plan(USUAL)
    assert 0.7 < sum(one.budget is not None for one in workloads) / len(workloads) < 1
    assert all(0 < one.at_once < one.replicas for one in workloads)


def test_stateful_sets_are_at_the_bottom() -> None:
    layers = [one.layer for one in plan(USUAL) if one.kind is Kind.STATEFUL_SET]
    assert layers
    assert max(layers) < 4


def test_too_few_pods_for_the_workloads_are_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        plan(Size(nodes=1, pods=3, workloads=10, depth=2))


@pytest.mark.parametrize(
    ("budget", "replicas", "at_once"),
    [
        (Budget(max_unavailable=1), 3, 1),
        (Budget(max_percent=25), 9, 3),
        (Budget(max_percent=25), 8, 2),
        (Budget(min_percent=70), 10, 3),
        (Budget(min_percent=70), 9, 2),
    ],
)
def test_shares_of_a_budget_round_up(budget: Budget, replicas: int, at_once: int) -> None:
    one = a_workload("web", replicas, budget=budget)
    assert (one.at_once, one.least_healthy) == (at_once, replicas - at_once)


def test_without_a_budget_a_quarter_of_a_deployment_moves_at_once_and_one_pod_of_a_stateful_set() -> None:
    assert a_workload("web", 9).at_once == 2
    assert a_workload("web", 2).at_once == 1
    assert a_workload("db", 9, kind=Kind.STATEFUL_SET).at_once == 1
    assert a_workload("web", 9).least_healthy == 0


def test_budgets_and_orders_become_manifests() -> None:
    db = a_workload("db", 3, kind=Kind.STATEFUL_SET, budget=Budget(max_unavailable=1))
    web = a_workload("web", 4, "db", budget=Budget(min_percent=70))
    limits = [made["spec"] for one in (db, web) if (made := budget_manifest(one))]
    assert (limits[0]["maxUnavailable"], limits[1]["minAvailable"]) == (1, "70%")
    (order,) = orders([db, web])
    (entry,) = order["spec"]["workloads"]
    assert (entry["name"], entry["dependsOn"][0]["kind"]) == ("web", "StatefulSet")


# --- the bound ---


def test_the_longest_path_counts_rounds_of_moves() -> None:
    db = a_workload("db", 3, kind=Kind.STATEFUL_SET)
    api = a_workload("api", 8, "db")
    web = a_workload("web", 2, "api", "db")
    aside = a_workload("aside", 20)
    assert longest([db, api, web, aside], MOVE) == 3 * 4.0 + 4 * 2.0 + 2 * 2.0


@pytest.mark.parametrize(
    ("rate", "slots", "seconds"),
    [(100.0, 100, 16.0), (0.25, 100, 32.0), (100.0, 1, 16.0)],
)
def test_the_bound_is_the_largest_of_its_parts(rate: float, slots: int, seconds: float) -> None:
    assert (
        bound([a_workload("web", 8, budget=Budget(max_unavailable=1))], MOVE, rate, slots).seconds == seconds
    )


def test_few_slots_make_waves() -> None:
    one = bound([a_workload("web", 8, budget=Budget(max_unavailable=8))], MOVE, 100.0, 3)
    assert (one.path, one.waves) == (2.0, 6.0)


@pytest.mark.parametrize(
    ("ready", "rate"),
    [
        ([4.0 + number / 20 for number in range(1, 101)], 20.0),
        ([54.0] * 100, 2.0),
        ([4.0] * 100, float("inf")),
        ([], float("inf")),
    ],
    ids=["steady", "all at the end", "no slower than one", "none"],
)
def test_the_rate_is_of_whole_moves_from_the_start(ready: list[float], rate: float) -> None:
    assert rate_of(ready, 4.0) == pytest.approx(rate)


# --- the figures ---


def a_contest(makespan: float, moves: float = 1.0) -> Contest:
    return Contest(makespan, Account(moves, 0, 0.0, 0.0), calls=120)


def a_bound(seconds: float) -> Bound:
    return Bound(seconds, 0.0, 0.0, MOVE, 1.0, 1)


def test_ours_is_set_against_the_bound_and_the_others() -> None:
    makespans = {Name.OURS: 12.0, Name.SEED: 24.0, Name.DRAIN: 16.0, Name.KUBECTL: 48.0}
    contests = {name: a_contest(seconds) for name, seconds in makespans.items()}
    found = figures(SHORT, a_bound(10.0), contests)
    assert found["makespan_vs_bound"] == pytest.approx(1.2)
    assert (found["makespan_vs_seed"], found["makespan_vs_drain"]) == (0.5, 0.75)
    assert (found["makespan_vs_kubectl"], found["bound_vs_drain"]) == (0.25, 0.625)
    assert found["calls_per_pod"] == 2.0
    assert AT_MOST.keys() | BELOW.keys() < found.keys()
    assert all(name in table(SHORT, contests) for name in contests)


def test_a_limit_that_must_not_be_reached_is_missed_when_it_is() -> None:
    found = {"makespan_vs_seed": 1.0, "moves_per_pod": 1.0, "order_violations": 1.0}
    missed = [line.split()[0] for line in verdict(found, judged=True).splitlines() if "MISSED" in line]
    assert missed == ["makespan_vs_seed", "order_violations"]
    assert "MISSED" not in verdict(found, judged=False)


# --- for real ---


@pytest.mark.usefixtures("programs")
def test_a_tiny_migration_is_in_order_and_moves_each_pod_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(Size(nodes=2, pods=6, workloads=2, depth=2), [Name.EVERYTHING, Name.OURS])
    assert (found["moves_per_pod"], found["order_violations"]) == (1.0, 0)
    assert (found["under_pdb_s"], found["held_pending_s"]) == (0, 0)
    assert found["makespan_vs_bound"] > 0
    assert 1 < found["calls_per_pod"] < 50
    everything = found["contenders"]["everything"]
    assert everything["moves_per_pod"] == 1.0
    assert everything["order_violations"] > 0
    assert "everything at once" in capsys.readouterr().out
