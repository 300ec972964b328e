"""Evictions that somebody holds up: an admission webhook that takes its time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.operated import NEW, OLD
from tests.workloads.rig import Rig, Scene
from tests.workloads.webhooks import VALIDATING, Json, Webhook

NAME = "evictions.example.com"


class Gatekeeper:
    """Asked about every eviction in the namespaces that it watches, it answers when it is let."""

    def __init__(self, rig: Rig) -> None:
        self.asked: list[str] = []
        self.let = threading.Event()
        self._webhook = Webhook(rig, VALIDATING, NAME, self._answer)

    def _answer(self, request: Json) -> Json:
        self.asked.append(request["name"])
        self.let.wait(25)
        return {}

    def watch(self, namespace: str) -> None:
        """From now on its word is asked for in this namespace."""
        self._webhook.watch(namespace, "pods/eviction")

    def close(self) -> None:
        self.let.set()
        self._webhook.close()


@pytest.fixture
def gatekeeper(rig: Rig) -> Iterator[Gatekeeper]:
    keeper = Gatekeeper(rig)
    yield keeper
    keeper.close()


def test_an_eviction_that_hangs_holds_up_nobody_else(scene: Scene, gatekeeper: Gatekeeper) -> None:
    old = scene.nodes("old", OLD)
    slow, quick = scene.namespace("slow"), scene.namespace("quick")
    gatekeeper.watch(slow)
    scene.deployment(slow, "slow", 4, spec={"strategy": {"rollingUpdate": {"maxUnavailable": 2}}})
    for name in ("db", "api", "web"):
        scene.deployment(quick, name, 2)
    scene.order(quick, web=["api"], api=["db"])
    scene.wait_ready(slow, slow=4)
    scene.wait_ready(quick, db=2, api=2, web=2)
    scene.begin(target=NEW)
    scene.wait(lambda: scene.arrived(quick, "db", "api", "web"), 20)
    assert scene.places(slow, "slow") == ["old"] * 4
    assert len(gatekeeper.asked) == 1, "the second of its workload waits for the first"
    gatekeeper.let.set()
    scene.finish(old)
    assert len(gatekeeper.asked) == len(set(gatekeeper.asked)) == 4


def test_what_waits_behind_an_eviction_that_hangs_is_not_sent_once_paused(
    scene: Scene, gatekeeper: Gatekeeper
) -> None:
    old = scene.nodes("old", OLD)
    slow = scene.namespace("slow")
    gatekeeper.watch(slow)
    scene.deployment(slow, "slow", 4, spec={"strategy": {"rollingUpdate": {"maxUnavailable": 2}}})
    scene.wait_ready(slow, slow=4)
    scene.begin(target=NEW)
    scene.wait(lambda: gatekeeper.asked, 20)
    scene.change_migration(paused=True)
    scene.wait(lambda: scene.status()["message"].startswith("paused"), 10)
    gatekeeper.let.set()
    scene.wait(lambda: scene.places(slow, "slow") == ["new", "old", "old", "old"], 20)
    assert len(gatekeeper.asked) == 1
    scene.change_migration(paused=False)
    scene.finish(old)
    assert len(gatekeeper.asked) == 4
