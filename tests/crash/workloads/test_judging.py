"""The judge finds what is wrong in traces made up for it, and nothing in a good one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash import oracle
from tests.crash.calls import Call, Sort
from tests.crash.director import Book, Entry
from tests.crash.oracle import Evidence
from tests.crash.plans import Spot
from tests.crash.recorder import Change, Key, State, Trace
from tests.crash.workloads import facts, invariants
from tests.crash.workloads.scenarios import Bystander, HalfWay, Scenario
from tests.crash.workloads.shape import NEW, Workload
from tests.crash.workloads.suite import SUITE

Json = dict[str, Any]

FIRST = Workload("db", replicas=2, budget={"minAvailable": 1})
SECOND = Workload("web", after=("shop/db",))
SCENARIO = Scenario("made up", (FIRST, SECOND), {})
MIGRATION = Key("WorkloadMigration", "", "cluster")


def pod(name: str, node: str = "", *, ready: bool = True, ending: bool = False, owner: str = "") -> Json:
    about: Json = {
        "name": name,
        "namespace": "shop",
        "labels": {"app": owner or name.rpartition("-")[0]},
        "ownerReferences": [{"kind": "StatefulSet", "name": owner or name.rpartition("-")[0]}],
        **({"deletionTimestamp": "now"} if ending else {}),
    }
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": about,
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": conditions},
    }


def pdb(name: str, app: str = "db", **about: Any) -> Json:
    spec = {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1}
    return {"metadata": {"name": name, "namespace": "shop", **about}, "spec": spec}


def migration(spec: Json | None = None, **status: Any) -> Json:
    return {"metadata": {"name": "cluster"}, "spec": spec or {}, "status": status}


def node(name: str, taints: list[Json] | None = None, labels: Json | None = None) -> Json:
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": taints or []}}


def start() -> State:
    pods = [pod("db-0", "old-0"), pod("db-1", "old-1"), pod("web-0", "old-0")]
    things = [("Pod", one) for one in pods] + [("PodDisruptionBudget", pdb("db"))]
    state = {Key(kind, "shop", thing["metadata"]["name"]): thing for kind, thing in things}
    return state | {MIGRATION: migration()}


def story(*changes: tuple[str, Json] | tuple[str, Json, bool]) -> Trace:
    """A trace from what happens in turn; True at the end says that the object is gone."""
    made = [
        Change(
            number,
            Key(one[0], one[1]["metadata"].get("namespace", ""), one[1]["metadata"]["name"]),
            one[1],
            len(one) > 2,
        )
        for number, one in enumerate(changes, 1)
    ]
    return Trace(start(), tuple(made))


def moved(name: str, node_name: str) -> list[Any]:
    """A pod ends and comes back elsewhere."""
    return [
        ("Pod", pod(name, "old-0", ending=True)),
        ("Pod", pod(name, "old-0", ending=True), True),
        ("Pod", pod(name, ready=False)),
        ("Pod", pod(name, node_name, ready=False)),
        ("Pod", pod(name, node_name)),
    ]


GOOD = story(*moved("db-1", "new-0"), *moved("db-0", "new-1"), *moved("web-0", "new-0"))


def judged(
    trace: Trace, *, book: Book | None = None, log: str = "", scenario: Scenario = SCENARIO
) -> list[str]:
    good = oracle.reference([oracle.clean_run(SUITE, scenario, Evidence(GOOD, Book()))])
    return oracle.judge(SUITE, scenario, Evidence(trace, book or Book(), (log,)), good)


def test_a_good_run_is_found_good() -> None:
    assert judged(GOOD) == []


def test_a_workload_under_its_budget_is_found() -> None:
    both = story(("Pod", pod("db-0", "old-0", ending=True)), ("Pod", pod("db-1", "old-1", ready=False)))
    (found,) = invariants.under_budget(both, SCENARIO)
    assert found.startswith("shop/db had 0 healthy pods at version 2, its budget needs 1: db-0 ends; db-1 on")


def test_a_role_under_its_budget_is_found_by_the_labels_of_pods() -> None:
    roles = Workload("db", replicas=2, roles={"replica": {"minAvailable": 1}})
    scenario = Scenario("labels", (roles,), {})
    replica = pod("db-1", "old-1")
    replica["metadata"]["labels"] = {"role": "replica"}
    trace = story(("Pod", replica), ("Pod", pod("db-1", "new-1")))
    (found,) = invariants.under_budget(trace, scenario)
    assert found.startswith("shop/db replica had 0 healthy pods at version 2, its budget needs 1: ")


def test_without_a_budget_one_pod_at_a_time_may_be_away() -> None:
    assert invariants.needed(Workload("x", replicas=3), {}) == 2
    assert invariants.needed(Workload("x", replicas=3), {"maxUnavailable": 2}) == 1


def test_a_dependent_that_comes_too_early_is_found() -> None:
    early = story(*moved("db-1", "new-0"), *moved("web-0", "new-0"), *moved("db-0", "new-1"))
    assert [one for one in judged(early) if "Pod shop/web-0 came to a target node" in one]


def test_once_met_is_met_whatever_becomes_of_a_pod() -> None:
    flapping = [("Pod", pod("db-0", "new-1", ready=False))]
    trace = story(*moved("db-1", "new-0"), *moved("db-0", "new-1"), *flapping, *moved("web-0", "new-0"))
    assert not invariants.out_of_order(trace, SCENARIO)


def test_workloads_that_depend_on_each_other_have_no_order() -> None:
    ring = Scenario("ring", (Workload("db", after=("shop/web",)), SECOND), {})
    assert not invariants.out_of_order(story(*moved("web-0", "new-0")), ring)


def test_after_a_change_of_mind_the_order_is_of_the_other_target() -> None:
    back = migration({"target": "v1.35.4"}, state="Upgrade", target="v1.35.4")
    halfway = story(*moved("db-1", "new-0"), ("WorkloadMigration", back), *moved("web-0", "old-1"))
    assert invariants.out_of_order(halfway, SCENARIO)
    undecided = migration({"target": "v1.35.4"}, state="Upgrade", target="v1.36.3")
    between = story(*moved("db-1", "new-0"), ("WorkloadMigration", undecided), *moved("web-0", "new-1"))
    assert not invariants.out_of_order(between, SCENARIO)


BACK = ("WorkloadMigration", migration({"target": "v1.35.4"}, state="Upgrade", target="v1.35.4"))


def test_a_pod_that_was_between_two_nodes_when_the_target_changed_ends_on_either_side() -> None:
    gone, back = moved("web-0", "old-0")[:2], moved("web-0", "old-0")[2:]
    assert not invariants.out_of_order(story(*moved("db-1", "new-0"), *gone, BACK, *back), SCENARIO)
    terminating = story(*moved("db-1", "new-0"), gone[0], BACK, gone[1], *back)
    assert not invariants.out_of_order(terminating, SCENARIO)
    later = story(*moved("db-1", "new-0"), *gone, BACK, *back, *moved("web-0", "old-0"))
    assert len(invariants.out_of_order(later, SCENARIO)) == 1


def test_who_looked_as_if_it_had_arrived_and_moved_away_was_not_met() -> None:
    trace = story(BACK, *moved("db-1", "new-0"), *moved("web-0", "old-1"))
    assert [one for one in invariants.out_of_order(trace, SCENARIO) if "web-0" in one]


def test_two_budgets_on_a_pod_are_found() -> None:
    second = story(("PodDisruptionBudget", pdb("shiplift-hold-statefulset-db")))
    assert invariants.two_budgets(second) == [
        "a pod of shop/db had the budgets ['db', 'shiplift-hold-statefulset-db']"
    ]


def test_a_migration_that_begins_again_is_found() -> None:
    states = [("WorkloadMigration", migration(state=one)) for one in ("Upgrade", "Upgrade", "NoUpgrade")]
    assert not invariants.begun_anew(story(*states))
    assert invariants.begun_anew(story(*states, *states)) == ["the migration began 2 times"]


@pytest.mark.parametrize(
    ("kind", "thing", "word"),
    [
        (
            "Node",
            node("new-0", labels={"shiplift.dev/target-version": "v1"}),
            "keeps shiplift.dev/target-version",
        ),
        ("Node", node("new-0", [{"key": "shiplift.dev/upgrade"}]), "keeps shiplift.dev/upgrade"),
        ("PodDisruptionBudget", pdb("db", annotations={"shiplift.dev/hold-ledger": "{}"}), "hold-ledger"),
        (
            "PodDisruptionBudget",
            pdb("own", "x", labels={"app.kubernetes.io/managed-by": "shiplift"}),
            "itself",
        ),
        ("WorkloadPlacement", {"metadata": {"name": "shiplift", "namespace": "shop"}, "spec": {}}, "is left"),
    ],
)
def test_what_is_left_behind_is_found(kind: str, thing: Json, word: str) -> None:
    trace = Trace(GOOD.start, (*GOOD.changes, *story((kind, thing)).changes))
    assert [one for one in judged(trace) if word in one]


def test_another_end_is_found() -> None:
    other = pdb("db")
    other["spec"]["minAvailable"] = 0
    trace = story(
        *moved("db-1", "new-0"),
        *moved("db-0", "new-1"),
        *moved("web-0", "new-0"),
        ("PodDisruptionBudget", other),
    )
    assert judged(trace) == [
        "at the end PodDisruptionBudget shop/db.spec.minAvailable is 0, 1 after a clean run",
    ]


def test_what_differs_between_clean_runs_is_no_divergence() -> None:
    runs = [
        oracle.clean_run(SUITE, SCENARIO, Evidence(one, Book()))
        for one in (GOOD, story(("PodDisruptionBudget", pdb("x", "x"))))
    ]
    clean = oracle.reference(runs)
    assert "PodDisruptionBudget shop/x.spec.minAvailable" in clean.varies


def test_a_pod_that_moves_twice_is_found() -> None:
    trace = story(
        *moved("db-1", "new-0"), *moved("db-0", "new-1"), *moved("web-0", "new-0"), *moved("web-0", "new-1")
    )
    assert "pods of shop/web: deleted 2 times, 1 in a clean run" in judged(trace)


def test_where_the_user_steps_in_each_pod_may_move_once_each_way() -> None:
    there_and_back = Scenario("back", SCENARIO.workloads, {}, HalfWay.ROLL_BACK)
    trace = story(
        *moved("db-1", "new-0"), *moved("db-1", "new-1"), *moved("db-0", "new-1"), *moved("web-0", "new-0")
    )
    assert not [one for one in judged(trace, scenario=there_and_back) if "times" in one]


def test_where_somebody_drains_a_workload_may_be_held_once_and_no_more() -> None:
    drained = Scenario("drained", SCENARIO.workloads, {}, bystander=Bystander.DRAINS)
    hold = ("PodDisruptionBudget", pdb("shiplift-hold-statefulset-web", "web"))
    assert not [one for one in judged(story(hold), scenario=drained) if "times" in one]
    assert [one for one in judged(story(hold)) if "created 1 times, 0 in a clean run" in one]


def test_the_operators_own_doing_is_judged() -> None:
    def write(manager: str, *, guarded: bool = True) -> Entry:
        call = Call(Sort.WRITE, "create pods/eviction", "shop/db-0", "pods", manager, guarded)
        return Entry(call, Spot(call.step, call.about), 201, 0.0)

    assert "does not say by uid" in judged(GOOD, book=Book((write("shiplift-1", guarded=False),)))[0]
    assert "does not say of which epoch" in judged(GOOD, book=Book((write("shiplift"),)))[0]
    late = Book((write("shiplift-2"), write("shiplift-1")))
    assert "of epoch 1 was accepted after epoch 2" in judged(GOOD, book=late)[0]


@pytest.mark.parametrize(
    "log",
    [
        '{"event": "x", "exception": "Traceback (most recent call last):\\n  File x\\nOSError: in use"}',
        '{}\nTraceback (most recent call last):\n  File "x", line 1\n    f()\nOSError: in use',
    ],
)
def test_a_traceback_in_a_log_is_told_with_what_was_raised(log: str) -> None:
    (told,) = (one for one in judged(GOOD, log=log) if "a traceback in the log" in one)
    assert "OSError: in use" in told


def test_a_run_that_did_not_end_says_only_that() -> None:
    evidence = Evidence(story(), Book(), (), (f"{oracle.STUCK}: stuck",))
    clean = oracle.reference([oracle.clean_run(SUITE, SCENARIO, Evidence(GOOD, Book()))])
    assert oracle.judge(SUITE, SCENARIO, evidence, clean) == ["it did not end: stuck"]


def test_past_its_budget_a_workload_still_has_all_but_one() -> None:
    strict = Workload("db", replicas=2, budget={"minAvailable": 2})
    one_away = story(("Pod", pod("db-0", "old-0", ending=True)))
    both_away = story(("Pod", pod("db-0", "old-0", ending=True)), ("Pod", pod("db-1", "old-1", ready=False)))
    forced = Scenario("forced", (strict,), {"onBlocked": "Force"})
    assert invariants.under_budget(one_away, Scenario("strict", (strict,), {}))
    assert not invariants.under_budget(one_away, forced)
    assert invariants.under_budget(both_away, forced)


def test_a_node_that_was_changed_in_place_is_on_the_other_side() -> None:
    changed = node("old-0")
    changed["status"] = {"nodeInfo": {"kubeletVersion": NEW}}
    state = {Key("Node", "", "old-0"): changed}
    assert facts.side(state, pod("db-0", "old-0")) == "new"
    assert facts.side({}, pod("db-0", "old-0")) == "old"
    early = story(("Node", changed), *moved("web-0", "old-0"))
    assert [one for one in invariants.out_of_order(early, SCENARIO) if "web-0 came to a target node" in one]


def test_what_the_node_controller_says_of_a_nodes_health_is_free() -> None:
    ill = node("old-0", [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
    theirs = node("old-0", [{"key": "theirs", "effect": "NoExecute"}])
    well, other, tainted = (
        SUITE.end(SCENARIO, {Key("Node", "", "old-0"): one}) for one in (node("old-0"), ill, theirs)
    )
    assert well == other != tainted
