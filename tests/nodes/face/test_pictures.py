"""The section on rollouts, letter by letter, on terminals of several sizes; and as much of it as fits."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from shiplift.api.nodes import Blocker, NodeRollout, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import Estimate, Progress, Software
from shiplift.cli.sections import Seen, Told, picture
from shiplift.cli.status import fitting
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.face.status import STATUS
from tests.nodes.face.rollouts import MADE, NOW, a_record, a_rollout

GOLDEN = Path(__file__).parent / "golden"
BLOCKER = Blocker(
    pod="shop/web-5d8f-x7k2p",
    budget="shop/web",
    message="PodDisruptionBudget shop/web needs 2 healthy pods and has 2; 1 more has to become Ready",
)
STOPPED = (
    "stopped: 1 of at most 1 node failed; node worker-03 (Quarantined): AgentFailed: no space left on device;"
    " mend it, then `shiplift pause rollout/v1.36.3` and `shiplift resume rollout/v1.36.3` try it again"
)
LATER = MADE + timedelta(hours=2)
BUSY = a_rollout(
    a_record("worker-07", NodeState.CHANGING, 2, message="its agent is at work"),
    a_record(
        "worker-04",
        NodeState.DRAINING,
        45,
        message=f"1 pod left: pod {BLOCKER.pod} is kept: {BLOCKER.message}",
        blockers=(BLOCKER,),
    ),
    a_record("worker-09", NodeState.SKIPPED, 50, message="node.shiplift.dev/skip-rollout leaves it out"),
    name="v1.36.3",
    phase=RolloutPhase.RUNNING,
    running_pass=RolloutPass.WORKERS,
    path=("v1.35.4", "v1.36.3"),
    progress=Progress.of(6, 12),
    unavailable=2,
    start_time=MADE,
    message="6 of 12 nodes run what they should; 2 are being changed",
    eta=Estimate(likely=LATER, earliest=LATER - timedelta(minutes=20), latest=LATER + timedelta(minutes=45)),
)
MANY = a_rollout(
    a_record("worker-03", NodeState.QUARANTINED, 12, message="AgentFailed: no space left on device"),
    *(a_record(f"worker-{one}", NodeState.DRAINING, one, message="1 pod left") for one in range(20, 32)),
    name="v1.36.3",
    spec={"pools": ("general", "data")},
    stalled=STOPPED,
    phase=RolloutPhase.STOPPED,
    running_pass=RolloutPass.WORKERS,
    progress=Progress.of(6, 40),
    unavailable=13,
    failures=1,
    start_time=MADE,
    message=STOPPED,
)
COMPLETE = a_rollout(
    name="containerd",
    spec={"version": None, "software": (Software(name="containerd", version="2.2.0"),)},
    phase=RolloutPhase.COMPLETE,
    running_pass=RolloutPass.DONE,
    progress=Progress.of(12, 12),
    start_time=MADE,
    complete_time=MADE + timedelta(minutes=31),
    message="all 12 nodes run what they should",
)
ALL = {"busy": BUSY, "many": MANY, "complete": COMPLETE}


def seen(rollout: NodeRollout) -> Seen:
    section = rollouts_view([rollout], NOW, None)
    return Seen((Told("nodes", STATUS, section),), None, stale=False)


def drawn(console: Console, made: RenderableType) -> str:
    with console.capture() as capture:
        console.print(made)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def terminal(width: int, height: int = 100) -> Console:
    return Console(width=width, height=height, file=io.StringIO(), no_color=True, highlight=False)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", ALL)
def test_it_is_drawn_as_before(name: str, width: int) -> None:
    text = drawn(terminal(width), picture(seen(ALL[name]), 20))
    assert max(map(len, text.splitlines())) <= width
    assert text == (GOLDEN / f"rollout-{name}-{width}.txt").read_text()


@pytest.mark.parametrize(("width", "height"), [(50, 24), (80, 24), (120, 20)])
@pytest.mark.parametrize("name", ALL)
def test_what_is_followed_fits_on_the_screen(name: str, width: int, height: int) -> None:
    console = terminal(width, height)
    lines = drawn(console, fitting(console, seen(ALL[name]), 20)).splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    worst = {"busy": "worker-04", "many": "worker-03", "complete": "Nodes"}[name]
    assert any(line.startswith(worst) for line in lines)


VALUES = (
    "45 min",
    "6/12 nodes",
    "2 unavailable",
    "node worker-03",
    "pod shop/web-5d8f-x7k2p",
    "needs 2",
    "has 2;",
)


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ALL)
def test_no_value_is_broken(name: str, width: int) -> None:
    whole, narrow = (drawn(terminal(columns), picture(seen(ALL[name]), 20)) for columns in (1000, width))
    assert {one: narrow.count(one) for one in VALUES} == {one: whole.count(one) for one in VALUES}
