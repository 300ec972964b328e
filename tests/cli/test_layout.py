"""What a terminal shows, letter by letter."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console, RenderableType

from shiplift.cli import layout
from shiplift.view.cluster import (
    Budget,
    ClusterView,
    NodeState,
    NodeView,
    OnVersion,
    Pods,
    Totals,
    VersionView,
    WorkloadState,
    WorkloadView,
)

GOLDEN = Path(__file__).parent / "golden"
OLD, NEW = "v1.35.4", "v1.36.3"


def node(  # what differs between the nodes of the picture
    name: str, state: NodeState, pods: Pods, version: str = OLD, cordoned: bool = False, seconds: int = 0
) -> NodeView:
    ready = state in (NodeState.READY, NodeState.CORDONED)
    return NodeView(name, "general", "zone-a", version, ready, cordoned, state, seconds, pods)


def workload(name: str, state: WorkloadState, pods: Pods, desired: int, *budgets: int) -> WorkloadView:
    return WorkloadView(
        namespace="shop",
        kind="StatefulSet",
        name=name,
        ready=pods.ready,
        desired=desired,
        state=state,
        versions=(OnVersion(OLD, pods.total),) if pods.total else (),
        budgets=tuple(Budget(f"budget-{number}", allows) for number, allows in enumerate(budgets)),
        pods=pods,
    )


BUSY = ClusterView(
    server_version=NEW,
    versions=(VersionView(NEW, 1, 1, Pods(ready=3)), VersionView(OLD, 6, 3, Pods(ready=95, starting=2))),
    pools=(),
    nodes=(
        node("general-0", NodeState.READY, Pods(ready=3), version=NEW),
        node("general-1", NodeState.READY, Pods(ready=2, starting=1, failing=1, leaving=1)),
        node("general-2", NodeState.READY, Pods(ready=90, starting=2, leaving=1)),
        node("general-3", NodeState.CORDONED, Pods(leaving=2), cordoned=True),
        node("general-4", NodeState.NOT_READY, Pods(ready=1), seconds=75),
        node("general-5", NodeState.UNREACHABLE, Pods(), seconds=7300, cordoned=True),
        node("general-6", NodeState.LEAVING, Pods()),
    ),
    workloads=(
        workload("api", WorkloadState.READY, Pods(ready=4), 4, 1),
        workload("cache", WorkloadState.STARTING, Pods(ready=1, starting=1), 2, 0),
        workload("database", WorkloadState.WAITING, Pods(ready=2, unplaced=1), 3, 1, 1),
        workload("queue", WorkloadState.FAILING, Pods(ready=1, failing=1, leaving=1), 3, 2),
        msgspec.structs.replace(
            workload("web", WorkloadState.READY, Pods(ready=95), 95),
            versions=(OnVersion(NEW, 3), OnVersion(OLD, 92)),
        ),
        workload("worker", WorkloadState.IDLE, Pods(), 0),
    ),
    totals=Totals(7, 4, 2, 6, 3, Pods(ready=98, starting=3, unplaced=1, failing=1, leaving=4)),
    stale=(),
)
EMPTY = ClusterView("v1.36.3", (), (), (), (), Totals(0, 0, 0, 0, 0, Pods()), ())


def drawn(picture: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(picture)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "view"),
    [("busy", BUSY), ("empty", EMPTY), ("stale", msgspec.structs.replace(EMPTY, stale=("Pod",)))],
)
def test_a_cluster_is_drawn_as_before(name: str, view: ClusterView, width: int) -> None:
    assert drawn(layout.cluster(view, "demo"), width) == (GOLDEN / f"{name}-{width}.txt").read_text()


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, drawn(layout.cluster(BUSY, "demo"), width).splitlines())) <= width


def test_a_state_is_a_word_not_only_a_colour() -> None:
    plain = drawn(layout.cluster(BUSY, "demo"), 120)
    for state in (*NodeState, *WorkloadState):
        assert f"{state.glyph} {state}" in plain


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h")]
)
def test_a_duration_is_told_in_one_unit(seconds: int, text: str) -> None:
    assert layout.duration(seconds) == text
