"""A budget counts a pod as going that is there, and lets nobody go: it is made to forget that, when its
controller had time to."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.nodes import NodeState
from shiplift.drain.steps import TIME_TO_NOTICE, ForgetEviction
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.pods import Pod
from shiplift.kube.errors import Conflict
from shiplift.nodes.model import Drain, Noted
from tests.drain.pods import a_budget
from tests.nodes.rig import Scene
from tests.nodes.seen import Seen, record
from tests.nodes.stage import Stage, decided
from tests.until import until

# --- which, as the view says it ---


@pytest.fixture
def seen() -> Seen:
    """One pod waits on each of two nodes for a budget, which counts a third as going."""
    made = Seen()
    made.roll(*(record(made.node(name)) for name in "ab"))
    made.node("c")
    for number, node in enumerate("abc"):
        made.pod(f"web-{number}", node, uid=f"u{number}", ready_since=7)
    made.put(a_budget(disrupted_pods=("web-2", "web-9"), uid="b"))
    return made


def noted(seen: Seen, node: str, outcomes: Outcomes | None = None) -> tuple[Noted, ...]:
    return seen.observer.observe(outcomes or Outcomes()).drains[seen.named_node(node).uid].noted


def change(seen: Seen, uid: str, **fields: Any) -> None:
    pod = seen.get(Pod, uid)
    assert pod is not None
    seen.put(msgspec.structs.replace(pod, **fields))


def test_the_first_of_the_nodes_that_wait_for_a_budget_has_what_it_is_to_forget(seen: Seen) -> None:
    assert noted(seen, "a") == (Noted("shop", "web", "b", "web-2", "u2", 7),)
    assert noted(seen, "b") == ()


def test_what_is_told_names_the_pod_that_is_taken_for_evicted(seen: Seen) -> None:
    (blocker,) = seen.observer.observe(Outcomes()).drains[seen.named_node("a").uid].blockers
    assert "it takes pod web-2, which is there, for evicted" in blocker.message


@pytest.mark.parametrize("pod", [{"ready": False}, {"deleting": 1000}])
def test_a_pod_that_is_not_ready_or_goes_is_left_to_the_controller(seen: Seen, pod: dict[str, Any]) -> None:
    change(seen, "u2", **pod)
    assert noted(seen, "a") == ()


def test_a_pod_that_is_evicted_here_is_rightly_counted_as_going(seen: Seen) -> None:
    assert noted(seen, "a", Outcomes(running=frozenset({"evict u2"}))) == ()


def test_a_budget_that_lets_pods_go_is_left_alone(seen: Seen) -> None:
    seen.put(a_budget(allowed=2, disrupted_pods=("web-2",), uid="b"))
    assert noted(seen, "a") == ()


def test_a_node_that_is_not_drained_asks_for_nothing(seen: Seen) -> None:
    seen.roll(record(seen.named_node("a"), NodeState.WAITING), record(seen.named_node("b")))
    assert noted(seen, "a") == ()
    assert len(noted(seen, "b")) == 1


# --- when ---


@pytest.mark.parametrize(
    ("ready_for", "asked"), [(TIME_TO_NOTICE, True), (TIME_TO_NOTICE - 2, False), (-3600, False)]
)
def test_its_controller_has_time_to_notice(ready_for: int, asked: bool) -> None:
    stage = Stage(1)
    stage.world.budgets["cart"] = 0
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.DRAINING)
    since = int(stage.world.now.timestamp()) - ready_for
    drain = Drain(left=1, noted=(Noted("shop", "web", "b", "web-2", "u2", since),))
    decision = decided(stage, drains={stage.record("w-0").uid: drain})
    steps = [one for one in decision.steps if isinstance(one, ForgetEviction)]
    assert steps == ([ForgetEviction("shop", "web", "b", "web-2", "u2")] if asked else [])
    due = decision.look_again
    assert asked or (due is not None and due.after <= timedelta(seconds=TIME_TO_NOTICE))


# --- on a real cluster ---


def _note_eviction(scene: Scene, space: str, pod: str) -> bool:
    """As the API server does with an eviction that it then does not carry out."""
    about = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "web", space)["metadata"]
    noted = {"disruptedPods": {pod: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}}
    with contextlib.suppress(Conflict):
        scene.client.patch(
            kinds.POD_DISRUPTION_BUDGET,
            "web",
            {"status": noted},
            space,
            uid=about["uid"],
            resource_version=about["resourceVersion"],
            subresource="status",
        )
        return True
    return False


def _allowed(scene: Scene, space: str) -> int:
    live = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "web", space)
    return live.get("status", {}).get("disruptionsAllowed", 0)


def test_a_rollout_is_not_held_up_for_two_minutes_by_an_eviction_that_was_cut_off(scene: Scene) -> None:
    scene.nodes(2)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.budget(space, "web", maxUnavailable=1)
    until(lambda: _allowed(scene, space) == 1, 60)
    first = next(iter(scene.client.list(kinds.POD, space)))["metadata"]["name"]
    until(lambda: _note_eviction(scene, space, first))
    until(lambda: _allowed(scene, space) == 0)
    begun = datetime.now(UTC)
    rollout = scene.roll()
    scene.rig.start()
    status = scene.phase(rollout, "Complete", 110)
    ended = datetime.fromisoformat(status["completeTime"])
    assert ended - begun < timedelta(minutes=2), "the controller would have forgotten it by itself"
