"""A pod watch that shows nothing any more, on a real API server: what it hides is looked at live."""

from __future__ import annotations

import functools
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from shiplift.engine.layer import Settings
from shiplift.engine.loop import Loop
from shiplift.facts import kinds
from shiplift.kube.unsettled import is_there
from shiplift.kube.watch import Watcher
from shiplift.operator import process
from shiplift.operator.process import Operator
from tests.operated import NEW, OLD
from tests.workloads.rig import Scene

SETTLE = 2.0


class Blindfold:
    """Over the eyes of the pod watch from the first pod on that is on its way out; it still hears noise."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher, self._apply = watcher, watcher._apply
        self.on, self._off = threading.Event(), threading.Event()
        watcher._apply = self._apply_nothing  # pyright: ignore[reportAttributeAccessIssue]

    def _apply_nothing(self, kind: str, raw: bytes) -> None:
        if self._off.is_set() or not (self.on.is_set() or self._leaves(kind, raw)):
            return self._apply(kind, raw)
        self.on.set()
        return self._watcher._heard()

    def _leaves(self, kind: str, raw: bytes) -> bool:
        return kind == "MODIFIED" and self._watcher._codec.row(raw).deleting > 0

    def take_off(self) -> None:
        self._off.set()
        self._watcher._lose("the blindfold is off")
        assert self._watcher._stream is not None
        self._watcher._stream.end()


def blindfolded(operator: Operator) -> Blindfold:
    return Blindfold(next(one for one in operator.store._watchers if one.watch.kind == kinds.POD))


def uids(scene: Scene, space: str) -> dict[str, str]:
    pods: list[dict[str, Any]] = list(scene.client.list(kinds.POD, space))
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def test_a_stateful_set_loses_one_pod_and_no_second(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(settle=timedelta(seconds=SETTLE))
    monkeypatch.setattr(process, "Loop", functools.partial(Loop, settings=settings))
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.workload(kinds.STATEFUL_SET, space, "db", 3)
    scene.wait_ready(space, db=3)
    before = uids(scene, space)
    scene.nodes("new", NEW)
    scene.migrate(target=NEW)
    blindfold = blindfolded(scene.rig.start())
    assert blindfold.on.wait(30), "nothing was evicted"
    time.sleep(4 * SETTLE)
    scene.wait_ready(space, db=3)
    after = uids(scene, space)
    assert sum(after[name] != uid for name, uid in before.items()) == 1
    blindfold.take_off()
    scene.finish(old)


def test_a_live_look_tells_a_pod_that_stays_from_one_that_goes(scene: Scene) -> None:
    space = scene.namespace()
    scene.nodes("old", OLD, 1)
    scene.workload(kinds.STATEFUL_SET, space, "db", 1)
    scene.wait_ready(space, db=1)
    operator = scene.rig.start()
    assert operator.store.wait_synced(20)
    (pod,) = [one for one in operator.store.snapshot().rows(kinds.POD) if one.namespace == space]
    assert is_there(scene.client, kinds.POD, pod)
    scene.client.delete(kinds.POD, pod.name, space, uid=pod.uid)
    assert not is_there(scene.client, kinds.POD, pod), "terminating, gone, or another of its name"
