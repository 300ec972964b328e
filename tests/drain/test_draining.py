"""What becomes of an eviction that is not granted, and when a drain does not go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from benchmarks.rows import make
from shiplift.drain.draining import DrainError, Draining
from shiplift.drain.holds import by_quorum
from shiplift.drain.model import Hold, Presence, Settings, Why
from shiplift.drain.plan import Plan
from shiplift.facts.kinds import POD, Kind
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.kube import errors
from shiplift.kube.errors import Cause, KubeError
from tests.drain.pods import EVERYTHING, NODE, NOW, STATEFUL_SET, a_pod
from tests.until import until


class Snapshot:
    """What a store has, as far as a drain asks."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def find(self, _: type[Node], name: str) -> Node | None:
        assert name == NODE
        return self._scene.node

    def pods_on(self, _: str) -> Iterator[Pod]:
        return iter(self._scene.pods)

    def all(self, _: object) -> tuple[()]:
        return ()

    def stale(self) -> tuple[Kind, ...]:
        return (POD,) if self._scene.is_stale else ()

    def undecodable(self, _: Kind) -> dict[str, str]:
        return self._scene.unreadable


class Scene:
    """A cluster of one node, in place of what a drain sees, and of the client that it evicts with."""

    def __init__(self) -> None:
        self.node: Node | None = make(Node, NODE, unschedulable=True)
        self.pods: list[Pod] = [a_pod()]
        self.is_stale = False
        self.unreadable: dict[str, str] = {}
        self.hold: Hold | None = None
        self.answers: list[KubeError | None] = []
        """To evictions, one after the other; None grants."""
        self.asked: list[tuple[str, bool, int | None]] = []
        self.now = float(NOW)

    client = property(lambda self: self)

    def snapshot(self) -> Snapshot:
        return Snapshot(self)

    def daemon_set(self, _: Pod) -> Presence:
        return Presence.THERE

    def attached(self, *_: object) -> tuple[str, ...]:
        return ()

    def holds(self, _: Snapshot) -> Callable[[Pod], Hold | None]:
        return lambda _: None

    def told(self, found: Plan, _: Snapshot) -> Plan:
        return found

    def replicas(self, _: object) -> None:
        return None

    def quorum_hold(self, _: Pod) -> Hold | None:
        return self.hold

    def evict(
        self, name: str, namespace: str, *, uid: str, dry_run: bool = False, grace: int | None = None
    ) -> None:
        self.asked.append((uid, dry_run, grace))
        answer = self.answers.pop(0)
        if answer is not None:
            raise answer

    def drain(self, settings: Settings | None = None) -> Draining:
        looking: Any = type("Seen", (), {})()
        for name in ("snapshot", "daemon_set", "attached", "holds", "told", "quorum_hold", "replicas"):
            setattr(looking, name, getattr(self, name))
        looking.client, looking.node = self, NODE
        return Draining(looking, settings or Settings(), lambda _: False, lambda: self.now)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def sent(scene: Scene, work: Draining, *answers: KubeError | None) -> Plan:
    """The plan after what there was to evict has been answered."""
    scene.answers += answers
    work.send(work.look())
    until(lambda: not scene.answers)
    work.stop()  # what was asked is answered
    return work.look()


EXHAUSTED = errors.BudgetExhausted("needs 2 healthy pods and has 2 currently", status=429)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (EXHAUSTED, 1),
        (errors.BudgetPending("still being processed", status=429, retry_after=10), 10),
        (errors.Throttled("too much to do", status=429, retry_after=3), 3),
        (errors.TwoBudgets("more than one PodDisruptionBudget", status=500), 1),
        (errors.Unreachable("no answer"), 1),
        (errors.Unknown("no answer, and a live look did not tell"), 1),
        (errors.Conflict("it has moved on", status=409), 1),
        (
            errors.Forbidden(
                "shop is being terminated", status=403, causes=(Cause(reason="NamespaceTerminating"),)
            ),
            1,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_refusal_is_told_and_tried_again_when_the_server_asks_for_it(
    scene: Scene, error: KubeError, seconds: int
) -> None:
    found = sent(scene, scene.drain(), error)
    (wait,) = found.waits
    assert (wait.why, wait.message) == (Why.REFUSED, error.message)
    with scene.drain() as work:
        sent(scene, work, error)
        scene.now += seconds - 0.1
        assert work.look().waits
        scene.now += 0.1
        assert [one.pod.uid for one in work.look().evictions] == ["web-1"]


def test_each_refusal_in_a_row_is_waited_for_longer(scene: Scene) -> None:
    waits: list[float] = []
    scene.answers = [EXHAUSTED] * 6
    with scene.drain() as work:
        for left in range(6, 0, -1):
            found = work.look()
            assert found.evictions
            work.send(found)
            until(lambda left=left: len(scene.answers) < left and work.look().waits)
            before = scene.now
            while not work.look().evictions:
                scene.now += 1
            waits.append(scene.now - before)
    assert waits == [1, 2, 4, 8, 10, 10]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        errors.NotFound("no such pod", status=404),
        errors.PreconditionFailed("another pod has its name", status=409),
    ],
    ids=["granted", "gone", "another"],
)
def test_a_pod_that_was_asked_to_go_is_not_asked_again_while_the_store_is_behind(
    scene: Scene, answer: KubeError | None
) -> None:
    work = scene.drain(Settings(pod_grace_period=7))
    found = sent(scene, work, answer)
    assert ([pod.uid for pod in found.going], found.evictions) == (["web-1"], ())
    assert scene.asked == [("web-1", False, 7)]
    scene.pods = []
    assert work.look().over


def test_a_granted_eviction_that_nobody_carried_out_is_asked_for_again(scene: Scene) -> None:
    work = scene.drain()
    assert sent(scene, work, None).going
    scene.now += 30
    assert work.look().going
    scene.now += 1
    assert [one.pod.uid for one in work.look().evictions] == ["web-1"]


def test_a_missing_right_ends_the_drain_and_is_named(scene: Scene) -> None:
    work = scene.drain()
    with pytest.raises(DrainError, match="pod shop/web-1 may not be evicted: you may not") as caught:
        sent(scene, work, errors.Forbidden("you may not", status=403))
    assert caught.value.hint == ("kubectl auth can-i create pods/eviction -n shop tells whether you may")


def test_what_a_quorum_service_holds_is_not_evicted(scene: Scene) -> None:
    scene.pods = [a_pod("db-0", owner=STATEFUL_SET)]
    scene.hold = by_quorum(scene.pods[0], {"shiplift.dev/quorum-hold": "minio"})
    with scene.drain() as work:
        work.send(work.look())
        until(lambda: work.look().waits)
        (wait,) = work.look().waits
    assert wait.message == "held by QuorumService shop/minio: its binary is being swapped on all members"
    assert scene.asked == []


def test_nothing_is_evicted_while_the_store_is_behind(scene: Scene) -> None:
    scene.is_stale = True
    with scene.drain() as work:
        work.send(work.look())
        assert [one.pod.uid for one in work.look().evictions] == ["web-1"]
        assert work.stale
    assert scene.asked == []


def test_pods_that_come_late_and_tolerate_the_cordon_stay(scene: Scene) -> None:
    first = a_pod("first", tolerations=(EVERYTHING,))
    scene.pods = [first]
    with scene.drain() as work:
        work.begin()
        scene.pods = [first, a_pod("again", tolerations=(EVERYTHING,)), a_pod("other")]
        found = work.look()
    assert [one.pod.uid for one in found.evictions] == ["first", "other"]
    assert [one.pod.uid for one in found.left] == ["again"]


def uncordoned(scene: Scene) -> None:
    assert scene.node is not None
    scene.node = msgspec.structs.replace(scene.node, unschedulable=False)


def gone(scene: Scene) -> None:
    scene.node = None


def unreadable(scene: Scene) -> None:
    scene.unreadable = {"shop/odd": "no such field"}


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        (uncordoned, "somebody has uncordoned node node-1 while it was drained"),
        (gone, "node node-1 is gone"),
        (unreadable, "pod shop/odd cannot be read"),
    ],
)
def test_a_drain_ends_when_it_cannot_go_on(
    scene: Scene, happens: Callable[[Scene], None], message: str
) -> None:
    with scene.drain() as work:
        work.begin()
        happens(scene)
        with pytest.raises(DrainError, match=message) as caught:
            work.look()
        assert caught.value.hint


def test_a_cordon_that_is_not_seen_is_an_error(scene: Scene) -> None:
    uncordoned(scene)
    with scene.drain() as work, pytest.raises(DrainError, match="the cordon of node node-1 was not seen"):
        work.begin(patience=0)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, ""),
        (EXHAUSTED, "needs 2 healthy pods and has 2 currently"),
        (errors.NotFound("no such pod", status=404), ""),
    ],
    ids=["granted", "refused", "gone"],
)
def test_a_dry_run_asks_what_the_server_would_answer(
    scene: Scene, answer: KubeError | None, says: str
) -> None:
    scene.answers = [answer]
    with scene.drain() as work:
        assert work.ask(scene.pods[0]) == says
    assert scene.asked == [("web-1", True, None)]
