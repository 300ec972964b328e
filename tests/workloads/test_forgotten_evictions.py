"""A budget takes a pod that is there for evicted, and lets nobody go: the pod is back under its name, or its
eviction was cut off."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.drain.steps import TIME_TO_NOTICE, ForgetEviction
from shiplift.engine.contested import Memory
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Answer
from shiplift.facts import kinds
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.memory import InForce
from shiplift.workloads.steps import Evict
from tests.model import nature
from tests.operated import OLD
from tests.workloads.rig import Scene
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, change_pod, decided, say, under_way
from tests.workloads.world import SPACE, World

Json = dict[str, Any]
DB, WEB = an_id("db", STATEFUL_SET), an_id("web")


# --- when ---


def a_shop_held_up() -> tuple[World, Pod]:
    """One pod is said to be going, though it is there and Ready since the beginning of time."""
    world = under_way((STATEFUL_SET, "db", 2))
    world.budget("db", {"app": "db"}, {"maxUnavailable": 1})
    nature.settle(world)
    say(world, {DB.owner_key: Turn.RELEASED})
    pod = max(world.pods(DB), key=lambda one: one.name)
    row = world.named(PodDisruptionBudget, "db")
    assert row is not None
    world.put(
        msgspec.structs.replace(row, disruptions_allowed=0, current_healthy=1, disrupted_pods=(pod.name,))
    )
    return world, pod


def test_what_the_controller_had_time_to_notice_is_forgotten() -> None:
    world, pod = a_shop_held_up()
    change_pod(world, pod, ready_since=int(world.now.timestamp()) - TIME_TO_NOTICE)
    decision = decided(world)
    row = world.named(PodDisruptionBudget, "db")
    assert row is not None
    assert [step for step in decision.steps if isinstance(step, ForgetEviction)] == [
        ForgetEviction(SPACE, "db", row.uid, pod.name, pod.uid)
    ]
    assert not any(isinstance(step, Evict) for step in decision.steps)
    assert "which is there, for evicted" in decision.lines[DB].message


def test_for_a_budget_of_several_workloads_it_is_asked_for_once() -> None:
    world = under_way((STATEFUL_SET, "db", 2), (STATEFUL_SET, "queue", 2))
    world.budget("all", {}, {"maxUnavailable": 1})
    nature.settle(world)
    say(world, {DB.owner_key: Turn.RELEASED, an_id("queue", STATEFUL_SET).owner_key: Turn.RELEASED})
    row = world.named(PodDisruptionBudget, "all")
    assert row is not None
    gone = {"disruptions_allowed": 0, "current_healthy": 3, "disrupted_pods": (world.pods(DB)[0].name,)}
    world.put(msgspec.structs.replace(row, **gone))
    world.pass_time(TIME_TO_NOTICE)
    steps = [step.key for step in decided(world).steps if isinstance(step, ForgetEviction)]
    assert len(steps) == 1


def test_until_then_it_is_looked_at_again_in_time() -> None:
    world, pod = a_shop_held_up()
    change_pod(world, pod, ready_since=int(world.now.timestamp()) - TIME_TO_NOTICE + 2)
    decision = decided(world)
    assert not any(isinstance(step, ForgetEviction) for step in decision.steps)
    assert isinstance(decision.look_again, Requeue)
    assert timedelta(seconds=1) < decision.look_again.after <= timedelta(seconds=3)


def test_a_pod_of_a_deployment_is_there_though_its_eviction_was_granted() -> None:
    world = under_way((DEPLOYMENT, "web", 2))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    say(world, {WEB.owner_key: Turn.RELEASED})
    pod, row = change_pod(world, world.pods(WEB)[0], ready_since=1), world.named(PodDisruptionBudget, "web")
    assert row is not None
    world.put(msgspec.structs.replace(row, disruptions_allowed=0, disrupted_pods=(pod.name,)))
    decision = decided(world)
    (step,) = [one for one in decision.steps if isinstance(one, ForgetEviction)]
    assert (step.pod, step.pod_uid) == (pod.name, pod.uid)
    assert f"takes pod {pod.name}, which is there, for evicted" in decision.lines[WEB].message


def test_a_pod_that_is_not_ready_is_left_to_the_controller() -> None:
    world, pod = a_shop_held_up()
    change_pod(world, pod, ready=False)
    assert not any(isinstance(step, ForgetEviction) for step in decided(world).steps)


def ago(seconds: float) -> str:
    return f"{datetime.now(UTC) - timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


class Papers:
    """A budget and a pod as they are read, one after the other, and what is then written."""

    def __init__(self, noted: float, made: float, about: Json) -> None:
        pod = {"uid": "now", "creationTimestamp": ago(made), **about}
        budget = {"name": "db", "namespace": "shop", "uid": "b", "resourceVersion": "7"}
        self._papers: list[Json] = [
            {"metadata": budget, "status": {"disruptedPods": {"db-1": ago(noted)}}},
            {"metadata": pod},
        ]
        self.written: list[Json] = []
        self.barrier = None

    def get(self, *_: Any) -> Json:
        return self._papers.pop(0)

    def patch(self, *_: Any, **given: Any) -> Papers:
        self.written.append(given)
        return self


@pytest.mark.parametrize(
    ("noted", "made", "about", "answer"),
    [
        (5, 1, {}, Answer.OK),
        (5, 1, {"uid": "another"}, Answer.REFUSED),
        (5, 1, {"deletionTimestamp": ago(0)}, Answer.REFUSED),
        (5, 60, {}, Answer.REFUSED),
        (20, 60, {}, Answer.OK),
        (20, 60, {"uid": "another"}, Answer.REFUSED),
        (20, 60, {"deletionTimestamp": ago(0)}, Answer.REFUSED),
    ],
    ids=[
        "back under its name",
        "another by now",
        "back, and goes again",
        "may be about to go",
        "cut off",
        "cut off, another by now",
        "cut off, and goes after all",
    ],
)
def test_a_note_is_taken_away_only_if_the_pod_certainly_stays(
    noted: float, made: float, about: Json, answer: Answer
) -> None:
    """What cannot be brought about at will on a real cluster: its controller is mostly faster."""
    papers = Papers(noted, made, about)
    actor = Actor(cast("Client", papers), InForce(), Memory())
    assert actor.act(ForgetEviction("shop", "db", "b", "db-1", "now")).answer is answer
    assert len(papers.written) == (answer is Answer.OK)
    if papers.written:
        assert papers.written[0]["resource_version"] == "7"
        assert papers.written[0]["subresource"] == "status"


# --- how, on a real cluster ---


def note_evictions(scene: Scene, space: str, noted: dict[str, datetime]) -> None:
    """As the API server does with an eviction; the controller may write in between."""
    status = {"disruptedPods": {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in noted.items()}}

    def note() -> bool:
        about = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "db", space)["metadata"]
        with contextlib.suppress(Conflict):
            scene.client.patch(
                kinds.POD_DISRUPTION_BUDGET,
                "db",
                {"status": status},
                space,
                uid=about["uid"],
                resource_version=about["resourceVersion"],
                subresource="status",
            )
            return True
        return False

    scene.wait(note)


def noted(scene: Scene, space: str) -> set[str]:
    live = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "db", space)
    return set(live["status"].get("disruptedPods") or {})


def made(scene: Scene, space: str, name: str) -> datetime:
    live = scene.client.get(kinds.POD, name, space)
    return datetime.fromisoformat(live["metadata"]["creationTimestamp"])


def a_database(scene: Scene) -> str:
    space = scene.namespace()
    scene.stateful_set(space, "db", 2)
    scene.budget(space, "db", "db", maxUnavailable=1)
    scene.wait_ready(space, db=2)
    scene.wait(lambda: _allowed(scene, space) == 1)
    return space


def _allowed(scene: Scene, space: str) -> int:
    live = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "db", space)
    return live.get("status", {}).get("disruptionsAllowed", 0)


def test_only_what_was_noted_before_the_pod_was_made_is_forgotten(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = a_database(scene)
    before, after = made(scene, space, "db-1") - timedelta(seconds=3), datetime.now(UTC)
    note_evictions(scene, space, {"db-0": after, "db-1": before})
    scene.wait(lambda: _allowed(scene, space) == 0)
    actor = Actor(scene.client, InForce(), Memory())
    uid = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "db", space)["metadata"]["uid"]

    def forget(pod: str, *, budget: str = uid, pod_uid: str = "") -> Answer:
        there = scene.client.get(kinds.POD, pod, space)["metadata"]["uid"]
        return actor.act(ForgetEviction(space, "db", budget, pod, pod_uid or there)).answer

    assert forget("db-0") is Answer.REFUSED
    assert forget("db-1", pod_uid="one before it") is Answer.REFUSED
    assert forget("db-1", budget="another") is Answer.OK
    assert noted(scene, space) == {"db-0", "db-1"}
    scene.wait(lambda: forget("db-1") is Answer.OK)
    assert noted(scene, space) == {"db-0"}
    assert forget("db-1") is Answer.OK
    scene.wait(lambda: _allowed(scene, space) == 0)


def test_a_migration_is_not_held_up_by_a_pod_that_is_back(scene: Scene) -> None:
    """Without help for two minutes, which is longer than is waited for here."""
    old = scene.nodes("old", OLD)
    space = a_database(scene)
    note_evictions(scene, space, {"db-1": made(scene, space, "db-1") - timedelta(seconds=3)})
    scene.wait(lambda: _allowed(scene, space) == 0)
    scene.begin()
    scene.finish(old)
    assert scene.arrived(space, "db")
