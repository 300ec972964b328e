"""Every node on its way: where each is, in words and marks, on terminals of two widths."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from shiplift.api.nodes import Blocker, NodeRollout, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import Progress
from shiplift.cli.stage_layout import Drawn, stage
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.face.standing import Stand, Standing, changes, standing
from shiplift.nodes.face.standing_layout import headline, nodes
from shiplift.nodes.model import PASSES
from shiplift.view.look import look
from tests.nodes.face.rollouts import NOW, a_record, a_rollout
from tests.view.rows import Snapshot, node, pod

GOLDEN = Path(__file__).parent / "golden"
OLD, NEW = "v1.35.4", "v1.36.3"
RUNNING: dict[str, Any] = {"phase": RolloutPhase.RUNNING}


def plane(name: str, version: str, server: str) -> Node:
    labels = Labels({"node-role.kubernetes.io/control-plane": ""})
    said = Labels({"kube-apiserver.shiplift.dev/current-version": server})
    return node(name, version, labels=labels, annotations=said)


ROWS = [
    node("data-0", NEW),
    node("data-1", NEW),
    node("data-2", OLD, unschedulable=True),
    node("data-3", OLD, unschedulable=True),
    node("general-0", OLD),
    node("general-1", OLD),
    node("general-2", OLD),
    plane("plane-0", NEW, NEW),
    plane("plane-1", OLD, NEW),
]
PODS = [
    pod("web-0", "data-0", ready=True),
    pod("web-1", "data-0"),
    *(pod(f"api-{number}", "general-0", ready=True) for number in range(3)),
    pod("cache", "data-3", ready=True),
]
BLOCKER = Blocker(pod="shop/cache", budget="shop/cache", message="needs 1 of 1 pods healthy and has 1")
BUSY = a_rollout(
    a_record("general-1", NodeState.QUARANTINED, message="the agent answered: no space left on device"),
    a_record("data-2", NodeState.CHANGING, message="its agent is at work"),
    a_record("data-3", NodeState.DRAINING, message="1 pod is left", blockers=(BLOCKER,)),
    a_record("general-2", NodeState.VERIFYING, message="its Lease has to be renewed"),
    running_pass=RolloutPass.WORKERS,
    progress=Progress.of(2, 9),
    **RUNNING,
)


def stands(rollout: NodeRollout | None, rows: list[Node] = ROWS) -> Standing:
    cluster = look(Snapshot(*rows, *PODS), NOW, NEW)
    view = rollouts_view([rollout], NOW, None) if rollout else None
    return standing(cluster, rows, view.rollouts[0] if view else None, NEW)


def states(view: Standing) -> dict[str, Stand]:
    return {one.name: one.state for one in view.nodes}


def test_each_node_is_there_once_and_the_control_plane_comes_first() -> None:
    names = [one.name for one in stands(BUSY).nodes]
    assert names[:2] == ["plane-0", "plane-1"]
    assert sorted(names) == sorted(one.name for one in ROWS)


def test_a_node_is_where_the_rollout_says_and_else_where_its_version_says() -> None:
    assert states(stands(BUSY)) == {
        "plane-0": Stand.CHANGED,
        "plane-1": Stand.WAITING,
        "data-0": Stand.CHANGED,
        "data-1": Stand.CHANGED,
        "data-2": Stand.CHANGING,
        "data-3": Stand.DRAINING,
        "general-0": Stand.WAITING,
        "general-1": Stand.FAILED,
        "general-2": Stand.VERIFYING,
    }


@pytest.mark.parametrize("state", NodeState)
def test_every_state_of_a_record_has_a_word(state: NodeState) -> None:
    rollout = a_rollout(a_record("general-0", state), **RUNNING)
    failed = state in (NodeState.FAILED, NodeState.REVERTING, NodeState.QUARANTINED)
    assert (states(stands(rollout))["general-0"] is Stand.FAILED) is failed


def test_every_pass_has_words() -> None:
    assert set(PASSES) == set(RolloutPass)


def test_before_there_is_a_rollout_nodes_are_ready_and_nothing_is_told() -> None:
    before = stands(None)
    assert set(states(before).values()) == {Stand.READY}
    assert list(changes(before, before)) == []
    assert (before.moved, before.settled, before.half_way) == (False, False, False)


def test_it_is_over_when_the_rollout_says_so_and_every_node_is_changed() -> None:
    complete = a_rollout(phase=RolloutPhase.COMPLETE)
    everywhere = [node("a", NEW), node("b", NEW)]
    assert stands(complete, everywhere).settled
    assert stands(complete).moved
    assert not stands(complete).settled
    assert not stands(a_rollout(**RUNNING), everywhere).moved


def test_half_way_some_workers_are_changed_and_one_is_drained() -> None:
    assert not stands(BUSY).half_way, "fewer than half are changed"
    rows = [node(name, NEW) for name in ("a", "b")] + [node("data-3", OLD)]
    assert stands(BUSY, rows).half_way
    assert not stands(a_rollout(**RUNNING), rows).half_way, "none is drained"


def test_a_line_is_told_for_each_pass_and_each_node_that_comes_to_another_state() -> None:
    before = stands(a_rollout(a_record("data-2", NodeState.DRAINING), **RUNNING))
    assert list(changes(before, stands(BUSY))) == [
        "general-1: failed, the agent answered: no space left on device",
        "pass Workers: packages of workers, a few nodes at a time",
        "data-2: changing",
        "data-3: draining, shop/cache waits for budget shop/cache",
        "general-2: verifying",
    ]
    assert list(changes(stands(BUSY), stands(BUSY))) == []
    assert "data-0: changed, it runs v1.36.3" in list(changes(stands(None), stands(BUSY)))


def drawn(picture: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(picture)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def played(view: Standing) -> RenderableType:
    cluster = look(Snapshot(*ROWS, *PODS), NOW, NEW)
    return stage(cluster, NEW, [Drawn(headline(view), nodes(view), shows_nodes=True)], "demo", "now · 14 s")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(("name", "rollout"), [("busy", BUSY), ("ready", None)])
def test_it_is_drawn_as_before(name: str, rollout: NodeRollout | None, width: int) -> None:
    text = drawn(played(stands(rollout)), width)
    assert max(map(len, text.splitlines())) <= width
    assert text == (GOLDEN / f"standing-{name}-{width}.txt").read_text()


def test_a_state_is_a_word_not_only_a_colour() -> None:
    text = drawn(played(stands(BUSY)), 120)
    assert all(f" {state}" in text for state in states(stands(BUSY)).values())
