"""Who waits for whom and where the pods are, told from rows and the migration; every workload once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.view.cluster import ClusterView, OnVersion, Pods, Totals, WorkloadState, WorkloadView
from shiplift.view.values import Share
from shiplift.workloads.face.explanation import Key, Link
from shiplift.workloads.face.migration import migration_view
from shiplift.workloads.face.movement import Movement, Mover, Stand, changes, movement
from tests.workloads.face.migrations import NEW, NOW, OLD, migration, progress, waiting

HELD = {"state": "Held", "reason": "WaitsForDependency"}


def key(name: str, space: str = "shop") -> Key:
    return ("StatefulSet" if name in ("db", "queue") else "Deployment", space, name)


def workload(
    name: str, desired: int = 2, *, new: Pods | None = None, old: Pods | None = None, space: str = "shop"
) -> WorkloadView:
    placed = tuple(OnVersion(version, pods) for version, pods in ((NEW, new), (OLD, old)) if pods)
    pods = sum((one.pods for one in placed), Pods())
    whole = pods.ready >= desired
    state = WorkloadState.READY if whole else WorkloadState.STARTING
    return WorkloadView(space, key(name)[0], name, pods.ready, desired, state, placed, (), pods)


def cluster(*workloads: WorkloadView) -> ClusterView:
    return ClusterView(NEW, (), (), (), workloads, Totals(0, 0, 0, 0, 0, Pods()), ())


def links(**needs: str) -> list[Link]:
    """`web="api db"`: web needs api and db."""
    return [Link(key(one), key(other), "test") for one, others in needs.items() for other in others.split()]


def moving(*lines: dict[str, Any]) -> Any:
    status = {"observedGeneration": 2, "state": "Upgrade", "target": NEW, "progress": progress(0, 9)}
    return migration_view(migration(status | {"workloads": list(lines)}), NOW)


def seen(*workloads: WorkloadView, lines: tuple[dict[str, Any], ...] | None = None, **needs: str) -> Movement:
    return movement(cluster(*workloads), None if lines is None else moving(*lines), links(**needs), NEW)


def tree(view: Movement) -> list[str]:
    return [f"{one.branch}{one.name}" for one in view.movers]


def test_each_is_under_the_deepest_of_those_that_it_needs() -> None:
    names = ("web", "api", "cache", "db", "queue", "worker")
    view = seen(
        *map(workload, names), web="api", api="queue cache", cache="db", worker="db queue", lines=None
    )
    assert tree(view) == ["db", "├ cache", "│ └ api", "│   └ web", "└ worker", "queue"]


def test_what_waits_for_itself_in_a_circle_or_for_nothing_that_exists_stands_alone() -> None:
    view = seen(*map(workload, ("a", "b", "c")), a="b", b="a", c="gone")
    assert tree(view) == ["a", "b", "c"]


NAMES = st.sampled_from([f"w{number}" for number in range(8)])


@given(st.lists(st.tuples(NAMES, NAMES)))
def test_every_workload_is_there_once_whatever_is_declared(pairs: list[tuple[str, str]]) -> None:
    names = [f"w{number}" for number in range(6)]
    declared = [Link(key(one), key(other), "test") for one, other in pairs]
    view = movement(cluster(*map(workload, names)), None, declared, NEW)
    assert sorted(one.name for one in view.movers) == names


@pytest.mark.parametrize(
    ("on", "desired", "marks"),
    [
        ({"old": Pods(ready=3)}, 3, (0, 0, 3)),
        ({"new": Pods(ready=1, starting=1), "old": Pods(ready=1)}, 3, (1, 1, 1)),
        ({"new": Pods(ready=1), "old": Pods(ready=1, leaving=1)}, 3, (1, 1, 1)),
        ({}, 3, (0, 3, 0)),
        ({"new": Pods(ready=3)}, 3, (3, 0, 0)),
        ({"new": Pods(ready=2), "old": Pods(ready=2)}, 3, (2, 0, 1)),
        ({"new": Pods(ready=4)}, 3, (3, 0, 0)),
        ({}, 0, (0, 0, 0)),
    ],
)
def test_there_are_as_many_marks_as_there_should_be_pods(
    on: dict[Any, Any], desired: int, marks: tuple[int, int, int]
) -> None:
    [one] = seen(workload("web", desired, **on)).movers
    assert (one.moved, one.between, one.left) == marks


def only(view: Movement) -> Mover:
    [one] = view.movers
    return one


@pytest.mark.parametrize(
    ("state", "stand"),
    [
        ("Held", Stand.HELD),
        ("Blocked", Stand.BLOCKED),
        ("Released", Stand.MOVING),
        ("Moving", Stand.MOVING),
    ],
)
def test_the_migration_says_where_a_workload_is(state: str, stand: Stand) -> None:
    lines = (waiting("web", state), waiting("db", "Moving"))
    [_, one] = seen(workload("db"), workload("web", old=Pods(ready=2)), lines=lines, web="db").movers
    assert one.state is stand


def test_what_the_migration_no_longer_lists_has_arrived_when_its_pods_have() -> None:
    assert only(seen(workload("web", new=Pods(ready=2)), lines=())).state is Stand.ARRIVED
    assert only(seen(workload("web", new=Pods(ready=1), old=Pods(ready=1)), lines=())).state is Stand.READY
    assert only(seen(workload("web", new=Pods(ready=1, starting=1)), lines=())).state is Stand.STARTING


def test_without_a_migration_nothing_has_arrived() -> None:
    assert only(seen(workload("web", new=Pods(ready=2)))).state is Stand.READY


@pytest.mark.parametrize("reason", ["WaitsForDependency", "Preparing"])
def test_one_that_is_held_names_all_that_it_waits_for_and_how_far_they_are(reason: str) -> None:
    half = workload("db", new=Pods(ready=1), old=Pods(ready=1))
    there = workload("queue", new=Pods(ready=2))
    line = waiting("web", "Held", "…", reason=reason)
    view = seen(half, there, workload("web"), web="queue db", lines=(line,))
    assert {one.name: one.now for one in view.movers}["web"] == "waits for db 1/2"


def test_one_in_another_namespace_is_named_with_it() -> None:
    link = Link(key("web"), key("db", "data"), "test")
    view = movement(
        cluster(workload("web"), workload("db", space="data")), moving(waiting("web", **HELD)), [link], NEW
    )
    assert view.movers[1].now == "waits for data/db 0/2"


def test_one_that_is_told_to_wait_for_what_has_arrived_moves() -> None:
    held = waiting("web", **HELD, message="waits for StatefulSet shop/db")
    there, web = workload("db", new=Pods(ready=2)), workload("web", old=Pods(ready=2))
    one = seen(there, web, web="db", lines=(held,)).movers[1]
    assert (one.state, one.now) == (Stand.MOVING, "its turn has come")


def test_one_that_waits_for_nodes_says_so() -> None:
    line = waiting("web", "Held", "no node runs v1.36.3 yet", reason="WaitingForNodes")
    one = only(seen(workload("web", old=Pods(ready=2)), lines=(line,)))
    assert (one.state, one.now) == (Stand.HELD, "no node runs v1.36.3 yet")


def test_what_is_watched_for_a_while_has_not_arrived() -> None:
    there, web = workload("db", new=Pods(ready=2)), workload("web", old=Pods(ready=2))
    lines = (
        waiting("db", "Moving", "watched"),
        waiting("web", **HELD, message="waits for StatefulSet shop/db"),
    )
    one = seen(there, web, web="db", lines=lines).movers[1]
    assert (one.state, one.now) == (Stand.HELD, "waits for db 2/2")


def test_what_is_said_of_one_that_moves_does_not_repeat_its_name() -> None:
    said = "move pod web-1 of Deployment shop/web away from node a"
    assert only(seen(workload("web"), lines=(waiting("web", "Moving", said),))).now == (
        "move pod web-1 away from node a"
    )


def test_pods_and_workloads_are_counted_together() -> None:
    view = seen(workload("db", new=Pods(ready=2)), workload("web", 3, new=Pods(ready=1)), lines=())
    assert (view.pods, view.workloads) == (Share(3, 5), Share(1, 2))


def test_only_what_came_to_another_state_is_told() -> None:
    shop = (workload("db"), workload("web"))
    before = seen(*shop, lines=(waiting("db", "Moving", "x"), waiting("web", "Moving", "x")), web="db")
    now = seen(*shop, lines=(waiting("db", "Moving", "y"), waiting("web", **HELD, message="y")), web="db")
    assert list(changes(before, before)) == []
    assert list(changes(before, now)) == ["web: held, waits for db 0/2"]
