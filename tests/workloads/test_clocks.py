"""Other people's clocks: a kubelet's that is ahead or behind, a persisted time that is yet to come."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.engine import clock
from shiplift.engine.step import Outcomes
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Migrating
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.steps import MarkNode
from shiplift.workloads.tell.report import status_of
from tests.workloads.views import DEPLOYMENT, an_id, look, say, under_way
from tests.workloads.world import World

WEB = an_id("web")
SOAK = 60
HOUR = 3600


class Eyes:
    """An operator's eyes on a world, by the world's clock."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.observer = Observer(cast("Any", world), lambda: True, now=lambda: world.now)
        world.listeners.append(self.observer.heard)

    def decide(self) -> Migrating:
        return decide(self.observer.observe(Outcomes()), self.world.now)

    def has_arrived(self) -> bool:
        return bool(self.decide().met)


def soaking() -> tuple[World, Eyes, Pod]:
    """A workload of one pod, which starts on a target node."""
    world = under_way((DEPLOYMENT, "web", 1), soak=f"{SOAK}s")
    say(world, {WEB.owner_key: Turn.RELEASED})
    (pod,) = world.pods(WEB)
    pod = world.put(msgspec.structs.replace(pod, node="new-1", ready=False, ready_since=0))
    eyes = Eyes(world)
    assert not eyes.has_arrived()
    return world, eyes, pod


@pytest.mark.parametrize("off", [0, HOUR, -HOUR], ids=["right", "ahead", "behind"])
def test_soaking_counts_from_when_we_saw_ready_whatever_the_kubelet_s_clock_says(off: int) -> None:
    world, eyes, pod = soaking()
    said = int(world.now.timestamp()) + off
    world.put(msgspec.structs.replace(pod, ready=True, ready_since=said))
    assert not eyes.has_arrived()
    world.pass_time(SOAK - 1)
    decision = eyes.decide()
    assert not decision.met
    assert decision.look_again_after == timedelta(seconds=1)
    world.pass_time(1)
    assert eyes.has_arrived()


def test_a_pod_that_was_ready_and_is_again_begins_anew() -> None:
    world, eyes, pod = soaking()
    pod = world.put(msgspec.structs.replace(pod, ready=True, ready_since=int(world.now.timestamp())))
    eyes.decide()
    world.pass_time(SOAK - 1)
    pod = world.put(msgspec.structs.replace(pod, ready=False, ready_since=0))
    eyes.decide()
    world.put(msgspec.structs.replace(pod, ready=True, ready_since=int(world.now.timestamp()) - HOUR))
    eyes.decide()
    world.pass_time(SOAK - 1)
    assert not eyes.has_arrived()
    world.pass_time(1)
    assert eyes.has_arrived()


def test_after_a_restart_the_kubelet_s_word_counts_but_no_time_to_come() -> None:
    world, _, pod = soaking()
    said = int(world.now.timestamp())
    pod = world.put(msgspec.structs.replace(pod, ready=True, ready_since=said - SOAK))
    assert Eyes(world).has_arrived()
    world.put(msgspec.structs.replace(pod, ready_since=said + HOUR))
    again = Eyes(world)
    assert not again.has_arrived()
    world.pass_time(SOAK)
    assert again.has_arrived()


def test_what_was_seen_is_kept_when_all_is_counted_anew() -> None:
    world, eyes, pod = soaking()
    world.put(msgspec.structs.replace(pod, ready=True, ready_since=int(world.now.timestamp()) - HOUR))
    migration = world.migration
    assert migration is not None
    world.publish(msgspec.structs.replace(migration.status, emptying="old-1"))
    assert not eyes.has_arrived(), "it became Ready in the same moment"
    world.publish(msgspec.structs.replace(migration.status, emptying=""))
    world.pass_time(SOAK - 1)
    assert not eyes.has_arrived()
    world.pass_time(1)
    assert eyes.has_arrived()


def test_without_soaking_nobody_s_clock_counts() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    say(world, {WEB.owner_key: Turn.RELEASED})
    (pod,) = world.pods(WEB)
    said = int(world.now.timestamp()) + HOUR
    world.put(msgspec.structs.replace(pod, node="new-1", ready_since=said))
    assert decide(look(world), world.now).met


def test_a_persisted_time_that_is_yet_to_come_counts_as_now() -> None:
    """Written by a leader whose clock was ahead."""
    world = under_way((DEPLOYMENT, "web", 2))
    say(world, {WEB.owner_key: Turn.RELEASED})
    world.put(msgspec.structs.replace(world.pods(WEB)[0], node="new-1"))
    ahead = world.now + timedelta(hours=1)
    first = status_of(decide(look(world), ahead))
    world.publish(first)
    (line,) = first.workloads
    assert line.since is not None
    assert line.since > world.now
    status = status_of(decide(look(world), world.now))
    assert status.workloads[0].since == world.now
    assert status.started_at == world.now
    assert status.eta is None


class Done:
    """A client to which everything goes well."""

    barrier = None

    def patch(self, *_: Any, **__: Any) -> Done:
        return self


def test_changes_are_remembered_by_the_clock_that_decisions_go_by(monkeypatch: pytest.MonkeyPatch) -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    observer = Observer(cast("Any", world), lambda: True)
    monkeypatch.setattr(clock, "now", lambda: world.now)
    step = MarkNode("old-1", "uid", Labels(a="b"), (), False)
    Actor(cast("Any", Done()), observer.in_force, observer.changes).act(step)
    assert observer.changes.changes[step.change].at == world.now
