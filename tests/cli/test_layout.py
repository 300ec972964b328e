"""What a terminal shows, letter by letter."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console, RenderableType

from shiplift.cli.stage_layout import Drawn, stage
from shiplift.face import layout
from shiplift.view.cluster import ClusterView, NodeState, NodeView, Pods, Totals, VersionView
from shiplift.view.values import Eta, Share
from shiplift.workloads.face.movement import Movement, Mover, Stand
from shiplift.workloads.face.movement_layout import headline, movers

GOLDEN = Path(__file__).parent / "golden"
OLD, NEW = "v1.35.4", "v1.36.3"


def node(name: str, state: NodeState, pods: Pods, version: str = OLD, seconds: int = 0) -> NodeView:
    ready = state in (NodeState.READY, NodeState.CORDONED)
    cordoned = state is NodeState.CORDONED
    return NodeView(name, "general", "zone-a", version, ready, cordoned, state, seconds, pods)


def mover(tree: str, state: Stand, moved: int, between: int, left: int, now: str = "") -> Mover:
    branch, _, name = tree.rpartition(" ")
    return Mover(
        ("Deployment", "shop", name), f"{branch} " if branch else "", state, moved, between, left, now
    )


CLUSTER = ClusterView(
    server_version=NEW,
    versions=(VersionView(NEW, 3, 2, Pods(ready=8)), VersionView(OLD, 4, 2, Pods(ready=95, starting=2))),
    pools=(),
    nodes=(
        node("general-0", NodeState.READY, Pods(ready=3)),
        node("general-1", NodeState.CORDONED, Pods(ready=2, starting=1, failing=1, leaving=1)),
        node("general-2", NodeState.UNREACHABLE, Pods(ready=1), seconds=7300),
        node("general-3", NodeState.LEAVING, Pods()),
        node("general-new-0", NodeState.READY, Pods(ready=3), version=NEW),
        node("general-new-1", NodeState.READY, Pods(ready=90, starting=2, leaving=1), version=NEW),
        node("general-new-2", NodeState.NOT_READY, Pods(), version=NEW, seconds=75),
    ),
    workloads=(),
    totals=Totals(7, 4, 1, 6, 3, Pods()),
    stale=(),
)
BUSY = Movement(
    target=NEW,
    migration=None,
    movers=(
        mover("database", Stand.ARRIVED, 3, 0, 0),
        mover("├ cache", Stand.MOVING, 1, 1, 0, "move pod cache-6c7f5d9b8-x2x7q away from node data-1"),
        mover("│ └ api", Stand.HELD, 0, 0, 4, "waits for cache 1/2, queue 0/3"),
        mover("│   └ web", Stand.STARTING, 0, 1, 3),
        mover("└ worker", Stand.READY, 0, 3, 92),
        mover(
            "queue",
            Stand.BLOCKED,
            0,
            0,
            3,
            "PodDisruptionBudget shop/queue needs 3 of 3 pods [healthy]: it never lets one go; change the "
            "budget, or set spec.onBlocked to Surge",
        ),
    ),
)
NOBODY = Movement(NEW, None, ())
EMPTY = ClusterView(NEW, (), (), (), (), Totals(0, 0, 0, 0, 0, Pods()), ())
STALE = msgspec.structs.replace(EMPTY, stale=("Pod",))
NOW = "the operator moves the shop · 14 s"


def played(view: Movement, cluster: ClusterView = CLUSTER) -> RenderableType:
    return stage(cluster, NEW, [Drawn(headline(view), movers(view))], "demo", NOW)


def drawn(picture: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(picture)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "picture"),
    [("busy", played(BUSY)), ("empty", played(NOBODY, EMPTY)), ("stale", played(NOBODY, STALE))],
)
def test_a_movement_is_drawn_as_before(name: str, picture: RenderableType, width: int) -> None:
    assert drawn(picture, width) == (GOLDEN / f"{name}-{width}.txt").read_text()


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    picture = drawn(played(BUSY), width)
    assert max(map(len, picture.splitlines())) <= width


def test_whatever_is_to_be_told_it_stays_within_the_lines() -> None:
    movers = [msgspec.structs.replace(one, now="so much to tell, " * 20) for one in BUSY.movers]
    wordy = msgspec.structs.replace(BUSY, movers=tuple(movers))
    assert len(drawn(played(wordy), 80).splitlines()) == len(drawn(played(BUSY), 80).splitlines())


def test_a_state_is_a_word_not_only_a_colour() -> None:
    plain = drawn(played(BUSY), 120)
    for state in (*NodeState, *Stand):
        assert f" {state}" in plain


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h")]
)
def test_a_duration_is_told_in_one_unit(seconds: int, text: str) -> None:
    assert layout.duration(seconds) == text


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (0, 0, "[--------------------]"),
        (0, 9, "[--------------------]"),
        (1, 1000, "[#-------------------]"),
        (5, 10, "[##########----------]"),
        (999, 1000, "[###################-]"),
        (9, 9, "[####################]"),
        (10, 9, "[####################]"),
    ],
)
def test_the_bar_is_full_only_when_all_is_done_and_empty_only_when_nothing_is(
    done: int, total: int, text: str
) -> None:
    assert layout.bar(Share(done, total)) == text


@pytest.mark.parametrize(
    ("eta", "words"),
    [
        (Eta(13, 13, 14), "13 s to go"),
        (Eta(13, 13, 13), "13 s to go"),
        (Eta(13, 5, 40), "13 s to go (5 s to 40 s)"),
        (Eta(3600, 3400, 3900), "60 min to go"),
        (Eta(3600, 2400, 6300), "60 min to go (40 min to 105 min)"),
        (Eta(8000, 7300, 10000), "2 h to go"),
    ],
)
def test_bounds_that_say_no_more_than_what_is_likely_are_left_out(eta: Eta, words: str) -> None:
    assert layout.to_go(eta) == words
    assert layout.expected(eta) == words.replace(" to go", "")
