"""What is told of a migration follows from its object, whatever the object holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.workloads import WorkloadState
from shiplift.view.values import Eta, Heard, Share
from shiplift.workloads.face.migration import (
    LastView,
    MigrationView,
    Phase,
    ProblemKind,
    changes,
    headline,
    migration_view,
)
from tests.workloads.face.migrations import BUSY, NEW, NOW, OLD, at, migration, progress, waiting


def view(
    status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **about: Any
) -> MigrationView:
    return migration_view(migration(status, spec, **about), NOW)


UPGRADE = {"observedGeneration": 2, "state": "Upgrade", "target": NEW}
IDLE = {"observedGeneration": 2, "state": "NoUpgrade"}
CLEANING = {
    "conditions": [
        {"type": "Reconciling", "status": "True", "reason": "CleaningUp", "lastTransitionTime": at(59)}
    ]
}


@pytest.mark.parametrize(
    ("status", "spec", "about", "phase"),
    [
        ({}, {}, {}, Phase.UNSEEN),
        ({}, {"paused": True}, {}, Phase.UNSEEN),
        (IDLE, {}, {}, Phase.IDLE),
        (IDLE, {"paused": True}, {}, Phase.PAUSED),
        (UPGRADE, {}, {}, Phase.MOVING),
        (UPGRADE, {"paused": True}, {}, Phase.PAUSED),
        (UPGRADE, {"paused": True, "abort": True}, {}, Phase.ABORTING),
        (IDLE, {"abort": True}, {}, Phase.ABORTED),
        (IDLE, {"abort": True}, {"generation": 3}, Phase.ABORTING),
        (IDLE | CLEANING, {"abort": True}, {}, Phase.ABORTING),
        (IDLE | CLEANING, {}, {}, Phase.CLEANING),
        (UPGRADE, {}, {"deletionTimestamp": at(1)}, Phase.LEAVING),
    ],
)
def test_the_first_phase_that_holds_is_told(
    status: dict[str, Any], spec: dict[str, Any], about: dict[str, Any], phase: Phase
) -> None:
    assert view(status, spec, **about).phase is phase


def test_everything_in_the_object_is_in_the_view() -> None:
    seen = view(BUSY)
    assert (seen.target, seen.mode, seen.seconds, seen.moves) == (NEW, "Inject", 1800, 1234)
    assert (seen.workloads, seen.pods) == (Share(12, 59), Share(80, 240))
    assert [(one.version, one.nodes, one.target) for one in seen.versions] == [
        (OLD, 3, False),
        (NEW, 2, True),
    ]
    assert seen.eta is None, "it is stalled"
    assert [ProblemKind.OPERATOR, *(one.kind for one in seen.problems)] == list(ProblemKind)


def test_who_needs_somebody_comes_first_and_who_was_moved_not_at_all() -> None:
    moved = [waiting("queue", "Met"), waiting("batch", "Skipped")]
    states = [one.state for one in view(BUSY | {"workloads": [*moved, *BUSY["workloads"]]}).waiting]
    assert states == [WorkloadState.BLOCKED, WorkloadState.MOVING, WorkloadState.RELEASED, WorkloadState.HELD]


def test_within_a_state_the_order_of_the_object_is_kept() -> None:
    listed = [waiting(name, "Held") for name in ("z", "a", "m")]
    assert [one.name for one in view(UPGRADE | {"workloads": listed}).waiting] == ["z", "a", "m"]


def test_waves_that_are_done_are_counted_and_only_the_next_are_told() -> None:
    waves = view(BUSY).waves
    assert (waves.done, waves.total, waves.more) == (1, 11, 4)
    assert [number for number, _ in waves.open] == [1, 2, 3, 4, 5, 6]


def test_what_the_object_has_no_room_for_is_counted() -> None:
    listed = [waiting(f"w{number}", "Held") for number in range(2000)]
    seen = view(UPGRADE | {"progress": progress(1000, 10_000), "workloads": listed})
    assert (len(seen.waiting), seen.unlisted) == (2000, 7000)


def test_a_count_that_lags_behind_never_becomes_negative() -> None:
    assert view(UPGRADE | {"progress": progress(5, 5), "workloads": [waiting("web", "Held")]}).unlisted == 0


@pytest.mark.parametrize(
    ("status", "spec", "about", "hint"),
    [
        (
            {},
            {},
            {},
            "no operator with the layer workloads has looked at it yet; `shiplift operator` runs one",
        ),
        (UPGRADE, {}, {"generation": 3}, "the operator has not seen the last change of the spec yet"),
        (UPGRADE, {"paused": True}, {}, "`shiplift resume` goes on"),
        (
            UPGRADE,
            {"abort": True},
            {},
            "`shiplift migrate --to VERSION` starts again with another version;"
            " for the same one, `kubectl delete workloadmigration cluster` comes first",
        ),
        (
            UPGRADE | {"cycles": BUSY["cycles"]},
            {},
            {},
            "take one dependency out of the cycle,"
            " or set spec.onCycle of WorkloadMigration cluster to Collapse to move it as one",
        ),
        (
            UPGRADE | {"missing": BUSY["missing"]},
            {},
            {},
            "create what is missing, or set spec.onMissing of WorkloadMigration cluster to Ignore",
        ),
        (
            UPGRADE | {"workloads": [waiting("web", "Held"), waiting("db", "Blocked")]},
            {},
            {},
            "`shiplift explain sts/db -n shop` tells all about the first of them",
        ),
        (
            UPGRADE | {"progress": progress(5, 5), "versions": BUSY["versions"]},
            {},
            {},
            "remove the old nodes, or upgrade them: `kubectl get nodes -l shiplift.dev/off-target`"
            " lists them; when none is left, everything of ours goes",
        ),
        (
            UPGRADE | {"inertTolerations": ["Deployment shop/web"]},
            {},
            {},
            "1 workload keeps a toleration of ours until the template changes;"
            " spec.cleanup of WorkloadMigration cluster set to Immediate takes it off, by a rollout",
        ),
    ],
)
def test_each_situation_has_its_hint(
    status: dict[str, Any], spec: dict[str, Any], about: dict[str, Any], hint: str
) -> None:
    assert view(status, spec, **about).hints == (hint,)


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        ({"cycles": BUSY["cycles"]}, {"onCycle": "Collapse"}),
        ({"missing": BUSY["missing"]}, {"onMissing": "Ignore"}),
        ({"workloads": [waiting("web", "Held")]}, {}),
        ({"progress": progress(4, 5), "versions": BUSY["versions"]}, {}),
        ({"progress": progress(5, 5), "versions": [{"version": NEW, "nodes": 2}]}, {}),
        ({"versions": BUSY["versions"]}, {}),
    ],
)
def test_what_stops_nothing_needs_no_hint(status: dict[str, Any], spec: dict[str, Any]) -> None:
    assert view(UPGRADE | status, spec).hints == ()


def test_a_target_without_its_letter_is_the_same_version() -> None:
    seen = view(UPGRADE | {"target": "1.36.3", "versions": BUSY["versions"]})
    assert [one.target for one in seen.versions] == [False, True]


def test_an_operator_that_leads_and_does_not_act_is_the_first_problem() -> None:
    fresh = migration({})
    told = migration_view(fresh, NOW, Heard(NOW - 1, "the fence does not hold"))
    assert told.problems[0].text == "leads and does not act: the fence does not hold"
    assert told.hints[0] == "nothing happens until the operator acts"
    assert told.message == "the operator does nothing: the fence does not hold"
    busy = migration_view(migration(BUSY), NOW, Heard(NOW - 1, "the fence does not hold"))
    assert busy.eta is None
    assert not migration_view(fresh, NOW, Heard(NOW - 100, "the fence does not hold")).problems


RUNS = UPGRADE | {"eta": BUSY["eta"], "startedAt": at(30)}
EXPECTED = Eta(likely=900, earliest=600, latest=8400)


@pytest.mark.parametrize(
    ("status", "spec", "eta"),
    [
        (RUNS, {}, EXPECTED),
        (RUNS, {"paused": True}, None),
        (RUNS, {"abort": True}, None),
        (RUNS | {"needs": "Deployment shop/web: no slot"}, {}, None),
        (RUNS | {"conditions": BUSY["conditions"]}, {}, None),
        (RUNS | {"state": "NoUpgrade"}, {}, None),
    ],
)
def test_an_end_is_expected_only_where_nothing_has_to_happen_first(
    status: dict[str, Any], spec: dict[str, Any], eta: Eta | None
) -> None:
    assert view(status, spec).eta == eta


@pytest.mark.parametrize("heard", [Heard(NOW - 20), Heard(NOW - 2, gone=True)])
def test_of_an_operator_that_is_away_no_end_is_expected(heard: Heard) -> None:
    told = migration_view(migration(RUNS | {"needs": ""}), NOW, heard)
    assert told.eta is None
    assert told.hints == (
        "nothing moves until an operator runs again; `shiplift operator` runs one from here",
    )
    assert migration_view(migration(RUNS), NOW, Heard(NOW - 2)).eta == EXPECTED


def test_what_has_to_happen_first_is_told() -> None:
    assert view(RUNS | {"needs": "Deployment shop/web: no slot"}).needs == "Deployment shop/web: no slot"


def test_the_last_move_is_told() -> None:
    last = {
        "target": NEW,
        "outcome": "Moved",
        "startTime": at(20),
        "completeTime": at(50),
        "workloads": progress(5, 5),
        "pods": progress(12, 12),
        "moves": 11,
    }
    found = view(IDLE | {"last": last}).last
    assert found == LastView(NEW, "Moved", 1800, 600, Share(5, 5), Share(12, 12), 11)


def test_the_first_look_tells_the_headline_and_who_is_blocked_already() -> None:
    assert changes(None, view(BUSY)) == (
        "moving to v1.36.3; 12/59 workloads, 80/240 pods; moves StatefulSet shop/db",
        "Deployment shop/cache: Blocked,"
        " PodDisruptionBudget cache needs 2 has 2: one more replica, or a lower minAvailable",
    )
    many = [waiting(f"w{number}", "Blocked") for number in range(13)]
    *_, last, more = changes(None, view(UPGRADE | {"workloads": many}))
    assert last == "Deployment shop/w9: Blocked, nothing is said why"
    assert more == "and 3 more are blocked"


def test_the_first_look_tells_what_it_needs() -> None:
    needs = UPGRADE | {"message": "no node runs it", "needs": f"nodes that run {NEW}"}
    assert changes(None, view(needs)) == (f"moving to {NEW}; no node runs it", f"needs: nodes that run {NEW}")


def test_who_has_arrived_moves_no_more_also_while_old_nodes_are_left() -> None:
    done = UPGRADE | {"progress": progress(5, 5), "versions": BUSY["versions"]}
    assert view(done).title == view(done, {"paused": True}).title == f"all have moved to {NEW}"
    assert view(done, {"abort": True}).title == f"aborting the move to {NEW}"
    assert view(UPGRADE | {"progress": progress(4, 5)}).title == f"moving to {NEW}"


def test_a_new_target_that_nobody_has_looked_at_is_told_before_what_was() -> None:
    one = view(IDLE | {"message": "aborted: workloads stay where they are"}, {"target": NEW}, generation=3)
    assert (one.title, one.message) == (f"not begun: the move to {NEW}", "")
    assert one.hints == ("the operator has not seen the last change of the spec yet",)


def test_what_is_aborted_and_undone_needs_no_operator() -> None:
    told = migration_view(migration(IDLE, {"abort": True, "target": NEW}), NOW, Heard(NOW - 2, gone=True))
    assert told.title == f"aborted the move to {NEW}"
    assert not [one for one in told.hints if "operator" in one]


def test_nothing_is_told_where_nothing_but_the_time_has_changed() -> None:
    assert changes(view(BUSY), migration_view(migration(BUSY), NOW + 60)) == ()


def test_a_workload_is_told_of_when_its_state_changes_and_when_it_has_moved() -> None:
    web, db = waiting("web", "Held", "StatefulSet shop/db"), waiting("db", "Moving", "pod db-1")
    before = view(UPGRADE | {"progress": progress(0, 2), "workloads": [web, db]})
    now = view(UPGRADE | {"progress": progress(1, 2), "workloads": [web | {"state": "Released"}]})
    assert changes(before, now) == (
        "moving to v1.36.3; 1/2 workloads, 0/0 pods",
        "Deployment shop/web: Released, StatefulSet shop/db",
        "StatefulSet shop/db: has moved",
    )


def test_a_workload_that_only_left_a_full_list_is_not_said_to_wait_no_more() -> None:
    web, db = waiting("web", "Held"), waiting("db", "Held")
    before = view(UPGRADE | {"progress": progress(0, 9), "workloads": [web]})
    now = view(UPGRADE | {"progress": progress(0, 9), "workloads": [db]})
    assert changes(before, now) == ("StatefulSet shop/db: Held, nothing is said why",)


def test_a_new_problem_is_told_once() -> None:
    before, now = view(UPGRADE), view(UPGRADE | {"notes": ["a", "b"]})
    assert changes(before, now) == ("note: a", "note: b")
    assert changes(now, now) == ()


def test_what_others_wrote_cannot_speak_to_the_terminal() -> None:
    evil = "\x1b[2J\x07\nall is well\u202e"
    seen = view(UPGRADE | {"message": evil, "notes": [evil], "workloads": [waiting("web", "Held", evil)]})
    for text in (headline(seen), seen.problems[0].text, seen.waiting[0].message):
        assert text.isprintable()


def test_a_view_is_a_plain_value() -> None:
    assert msgspec.json.encode(view(BUSY))


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("DaemonSetsDoNotTolerate", f"cannot begin the move to {NEW}"),
        ("InjectUnavailable", f"cannot begin the move to {NEW}"),
        ("CleaningUp", "cleaning up"),
    ],
)
def test_a_start_that_is_refused_is_not_told_as_nothing_to_move(reason: str, title: str) -> None:
    stalled = {"type": "Stalled", "status": "True", "reason": reason, "lastTransitionTime": at(59)}
    one = view(IDLE | {"conditions": [stalled]}, {"target": NEW})
    assert one.title == title


def test_one_that_is_being_deleted_says_what_sees_it_through() -> None:
    told = view(IDLE, deletionTimestamp=at(59))
    assert told.title == "being deleted"
    assert "without an operator, `shiplift undo` does that" in " ".join(told.hints)
