"""What is told of one workload: its pods, its neighbours in the order, its budgets, what would unblock it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.placements import Turn, WorkloadPlacement, WorkloadPlacementSpec
from shiplift.api.workloads import WorkloadState
from shiplift.facts.meta import Labels, Row
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from shiplift.view.cluster import PodState
from shiplift.workloads.face.explanation import Explanation, Key, Known, Link, Standing, explanation
from tests.view.rows import Snapshot, make, node, pod
from tests.workloads.face.migrations import BUSY, NEW, NOW, OLD, migration, progress, waiting

APP = Labels(app="web")
WEB = make(Deployment, "web", namespace="shop", uid="uid-web", replicas=3, template_labels=APP)
DB = make(StatefulSet, "db", namespace="shop", uid="uid-db", replicas=3)
QUEUE = make(StatefulSet, "queue", namespace="shop", uid="uid-queue", replicas=1)
WEB_KEY: Key = ("Deployment", "shop", "web")
DB_KEY: Key = ("StatefulSet", "shop", "db")
QUEUE_KEY: Key = ("StatefulSet", "shop", "queue")
ORDER = "WorkloadOrder shop/order"
MOVING = {"observedGeneration": 2, "state": "Upgrade", "target": NEW, "met": ["uid-queue"]}
HELD = MOVING | {
    "workloads": [
        waiting("web", "Held", "StatefulSet shop/db"),
        waiting("db", "Moving", pods=progress(1, 3)),
    ]
}


def explained(
    *rows: Row, status: dict[str, Any] | None = None, workload: Any = WEB, **known: Any
) -> Explanation:
    if status is not None:
        known["migration"] = migration(status, known.pop("spec", None))
    return explanation(Snapshot(WEB, DB, QUEUE, *rows), workload, Known(**known), NOW)


def budget(name: str, needs: int, has: int, allows: int, **labels: str) -> PodDisruptionBudget:
    return make(
        PodDisruptionBudget,
        name,
        namespace="shop",
        selector=Selector(Labels(labels or APP)),
        desired_healthy=needs,
        current_healthy=has,
        expected_pods=has,
        disruptions_allowed=allows,
        min_available=needs,
    )


def follower(name: str, has: int) -> PodDisruptionBudget:
    """One that needs all replicas, however many there are."""
    return msgspec.structs.replace(budget(name, has, has, 0), min_available=None, max_unavailable=0)


def test_pods_are_told_node_by_node_with_the_version_there() -> None:
    mine = make(ReplicaSet, "web-1", namespace="shop", owners=pod("x", owner=WEB).owners)
    other = make(ReplicaSet, "other", namespace="shop")
    one = explained(
        node("old-2", OLD),
        node("old-10", OLD),
        node("new-1", NEW),
        mine,
        other,
        pod("a", "old-10", mine, ready=True),
        pod("b", "old-2", mine, ready=True),
        pod("c", "old-2", mine, waiting="CrashLoopBackOff", deleting=1),
        pod("d", "new-1", mine, ready=True),
        pod("e", "", mine, unschedulable="0/3 nodes\nare available"),
        pod("f", "old-2", other, ready=True),
        pod("g", "old-2", mine, phase="Succeeded"),
        status=HELD,
    )
    assert [(on.node, on.version, on.target, on.ready, on.total, on.note) for on in one.pods] == [
        ("new-1", NEW, True, 1, 1, ""),
        ("old-2", OLD, False, 1, 2, "1 leaving; CrashLoopBackOff"),
        ("old-10", OLD, False, 1, 1, ""),
        ("", "", False, 0, 1, "0/3 nodes are available"),
    ]
    assert (one.ready, one.desired) == (3, 3)


def test_a_pod_that_was_asked_for_is_told_with_why_it_is_not_ready() -> None:
    pods = [
        pod("db-0", "old-1", DB, ready=True),
        pod("db-1", "new-1", DB, waiting="CrashLoopBackOff"),
        pod("db-2", "", DB, unschedulable="0/2 nodes\nare available"),
    ]
    rows = Snapshot(DB, node("old-1", OLD), node("new-1", NEW), *pods)
    known = Known(migration=migration(HELD))

    def told(name: str) -> tuple[object, ...]:
        one = explanation(rows, DB, known, NOW, name).pod
        return (one.state, one.node, one.version, one.target, one.note) if one else ()

    assert told("db-0") == (PodState.READY, "old-1", OLD, False, "")
    assert told("db-1") == (PodState.FAILING, "new-1", NEW, True, "CrashLoopBackOff")
    assert told("db-2") == (PodState.UNPLACED, "", "", False, "0/2 nodes are available")
    assert told("db-3") == told("") == ()


def test_pods_of_a_stateful_set_are_its_own() -> None:
    one = explained(node("old-1", OLD), pod("db-0", "old-1", DB, ready=True), workload=DB)
    assert [(on.node, on.ready) for on in one.pods] == [("old-1", 1)]


def test_each_dependency_says_whether_it_has_moved_and_who_declared_it() -> None:
    missing: Key = ("Deployment", "other", "gone")
    links = (
        Link(WEB_KEY, DB_KEY, ORDER),
        Link(WEB_KEY, QUEUE_KEY, "annotation x", soft=True),
        Link(WEB_KEY, missing, ORDER),
        Link(QUEUE_KEY, DB_KEY, ORDER),
    )
    one = explained(status=HELD, links=links)
    assert [(str(need), need.standing, need.pods and str(need.pods), need.soft) for need in one.needs] == [
        ("Deployment other/gone", Standing.MISSING, None, False),
        ("StatefulSet shop/db", Standing.NOT_YET, "1/3", False),
        ("StatefulSet shop/queue", Standing.MOVED, None, True),
    ]
    assert [str(other) for other in explained(status=HELD, links=links, workload=DB).needed_by] == [
        "StatefulSet shop/queue",
        "Deployment shop/web",
    ]


def test_the_line_of_the_operator_is_told_with_its_state() -> None:
    one = explained(status=HELD)
    assert one.line
    assert (one.line.state, one.line.message, one.line.seconds) == (
        WorkloadState.HELD,
        "StatefulSet shop/db",
        720,
    )


@pytest.mark.parametrize(
    ("status", "known", "phase"),
    [
        (None, {}, "there is no migration"),
        ({"observedGeneration": 1}, {}, "nothing is being moved"),
        (HELD, {}, "held"),
        (MOVING, {}, "not moved yet"),
        (MOVING | {"met": ["uid-web"]}, {}, "moved"),
        (HELD, {"opted_out": frozenset({WEB_KEY})}, "left alone: it has opted out"),
        (HELD, {"spec": {"excludeNamespaces": ["shop"]}}, "left alone: its namespace is excluded"),
    ],
)
def test_where_it_is_in_the_move_is_told_in_words(
    status: dict[str, Any] | None, known: dict[str, Any], phase: str
) -> None:
    assert explained(status=status, **known).phase == phase


def test_its_turn_is_what_the_api_server_goes_by() -> None:
    spec = WorkloadPlacementSpec(
        target=NEW, turns={"Deployment.web": Turn.HELD, "StatefulSet.db": Turn.RELEASED}
    )
    placement = WorkloadPlacement(spec=spec)
    assert explained(placement=placement).turn is Turn.HELD
    assert explained(placement=placement, workload=DB).turn is Turn.RELEASED
    assert explained(placement=placement, workload=QUEUE).turn is None


def test_only_budgets_that_cover_it_are_told() -> None:
    elsewhere = make(PodDisruptionBudget, "web", namespace="other", selector=Selector(APP))
    one = explained(budget("mine", 2, 3, 1), budget("others", 1, 1, 0, app="db"), elsewhere)
    assert [(own.name, own.needs, own.has, own.allows) for own in one.budgets] == [("mine", 2, 3, 1)]


PRIMARY, REPLICA = budget("primary", 1, 1, 0, role="primary"), budget("replica", 1, 2, 1, role="replica")


def with_roles(*roles: str) -> list[Row]:
    return [
        pod(f"db-{number}", "old-1", DB, namespace="shop", labels=Labels(role=role, app="db"))
        for number, role in enumerate(roles)
    ]


def test_a_budget_covers_a_workload_by_the_labels_of_its_pods() -> None:
    one = explained(*with_roles("primary", "replica", "replica"), PRIMARY, REPLICA, workload=DB)
    assert [own.name for own in one.budgets] == ["primary", "replica"]
    one = explained(*with_roles("replica", "replica", "replica"), PRIMARY, REPLICA, workload=DB)
    assert [own.name for own in one.budgets] == ["replica"]


def test_pods_that_are_not_made_yet_count_by_the_template() -> None:
    apart = [
        pod(f"web-{one}", "old-1", WEB, namespace="shop", labels=Labels(app="other")) for one in range(3)
    ]
    assert [own.name for own in explained(*apart[:2], budget("web", 1, 1, 0)).budgets] == ["web"]
    assert explained(*apart, budget("web", 1, 1, 0)).budgets == ()


def test_budgets_of_different_pods_are_not_in_each_others_way() -> None:
    pods = with_roles("primary", "replica", "replica")
    one = explained(*pods, PRIMARY, REPLICA, workload=DB, status=HELD)
    assert one.unblocked_by == (
        "one more replica gets ready, or PodDisruptionBudget primary needs fewer: it needs 1, has 1, "
        "and lets none go",
    )
    both = budget("everybody", 1, 3, 2, app="db")
    one = explained(*pods, PRIMARY, both, workload=DB, status=HELD)
    assert one.unblocked_by == (
        "all but one of the PodDisruptionBudgets everybody, primary go: a pod with several cannot be evicted",
    )


UNMET = (
    Link(WEB_KEY, DB_KEY, ORDER),
    Link(WEB_KEY, QUEUE_KEY, ORDER),
    Link(WEB_KEY, ("Deployment", "a", "b"), ORDER),
)


@pytest.mark.parametrize(
    ("rows", "known", "wanted"),
    [
        (
            (budget("web", 3, 3, 0),),
            {"links": UNMET},
            (
                "Deployment a/b is created, or no longer named by WorkloadOrder shop/order",
                "StatefulSet shop/db moves its 2 other pods",
            ),
        ),
        ((), {"spec": {"paused": True}}, ("somebody runs `shiplift resume`: the migration is paused",)),
        (
            (budget("web", 3, 3, 0),),
            {},
            (
                "one more replica gets ready, or PodDisruptionBudget web needs fewer: it needs 3, has 3, "
                "and lets none go",
            ),
        ),
        (
            (follower("web", 3),),
            {},
            ("PodDisruptionBudget web is changed: it lets none go, however many replicas there are",),
        ),
        (
            (budget("web", 3, 1, 0),),
            {},
            ("2 more of its pods get ready: PodDisruptionBudget web needs 3, has 1",),
        ),
        (
            (budget("web", 2, 3, 1), budget("also", 2, 3, 1)),
            {},
            ("all but one of the PodDisruptionBudgets also, web go: a pod with several cannot be evicted",),
        ),
        ((budget("web", 2, 3, 1),), {}, ()),
        ((budget("hold", 3, 3, 0),), {"holds": frozenset({"hold"})}, ()),
        ((budget("web", 3, 3, 0),), {"opted_out": frozenset({WEB_KEY})}, ()),
    ],
)
def test_what_would_unblock_it_is_told(
    rows: tuple[Row, ...], known: dict[str, Any], wanted: tuple[str, ...]
) -> None:
    assert explained(*rows, status=HELD, **known).unblocked_by == wanted


def test_what_has_moved_or_does_not_move_needs_nothing() -> None:
    for status in (MOVING | {"met": ["uid-web"]}, {"observedGeneration": 1}, None):
        one = explained(budget("web", 3, 3, 0), status=status, links=UNMET)
        assert one.unblocked_by == ()
    assert [need.standing for need in explained(links=UNMET).needs] == [
        Standing.MISSING,
        Standing.IDLE,
        Standing.IDLE,
    ]


def test_a_dependency_that_opted_out_is_not_waited_for() -> None:
    status = MOVING | {"workloads": [waiting("web", "Held")]}
    links = (Link(WEB_KEY, DB_KEY, ORDER),)
    one = explained(status=status, links=links, opted_out=frozenset({DB_KEY}))
    assert one.needs[0].standing is Standing.OUTSIDE
    assert one.unblocked_by == ()


def test_the_busy_example_can_be_explained() -> None:
    assert explained(status=BUSY).line


def test_one_that_was_deleted_after_it_had_moved_is_waited_for_no_more() -> None:
    gone: Key = ("Deployment", "other", "gone")
    status = HELD | {"reliedOn": ["Deployment other/gone"]}
    one = explained(status=status, links=(Link(WEB_KEY, gone, ORDER),))
    assert [need.standing for need in one.needs] == [Standing.MOVED]
    assert one.unblocked_by == ()


# --- cycles ---


ROUND = (Link(WEB_KEY, DB_KEY, ORDER), Link(DB_KEY, WEB_KEY, ORDER))
BROKEN = (
    "one dependency of the cycle Deployment shop/web -> StatefulSet shop/db -> Deployment shop/web is taken"
    " out, or spec.onCycle of WorkloadMigration cluster is set to Collapse"
)


def test_in_a_cycle_nobody_is_told_to_wait_for_what_cannot_happen() -> None:
    assert explained(status=HELD, links=ROUND).unblocked_by == (BROKEN,)
    assert "moves its" not in " ".join(explained(status=HELD, links=ROUND, workload=DB).unblocked_by)


def test_who_waits_for_a_cycle_is_told_that_the_cycle_has_to_go() -> None:
    status = HELD | {"met": []}
    one = explained(status=status, links=(*ROUND, Link(QUEUE_KEY, WEB_KEY, ORDER)), workload=QUEUE)
    assert one.unblocked_by == (BROKEN,)


def test_a_cycle_that_moves_as_one_or_is_only_a_wish_stops_nobody() -> None:
    together = explained(status=HELD, links=ROUND, spec={"onCycle": "Collapse"})
    assert together.unblocked_by == ("StatefulSet shop/db moves its 2 other pods",)
    soft = (ROUND[0], Link(DB_KEY, WEB_KEY, ORDER, soft=True))
    assert explained(status=HELD, links=soft).unblocked_by == ("StatefulSet shop/db moves its 2 other pods",)


def test_others_that_are_waited_for_are_told_beside_the_cycle() -> None:
    missing: Key = ("Deployment", "a", "b")
    one = explained(status=HELD, links=(*ROUND, Link(WEB_KEY, missing, ORDER)))
    assert one.unblocked_by == (
        BROKEN,
        "Deployment a/b is created, or no longer named by WorkloadOrder shop/order",
    )
