"""The contenders, each a real program with its own account: how it starts, and when it has finished.

All begin from the same cluster with the same agents, and with whatever they need already running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from enum import StrEnum
from typing import cast

from benchmarks.rig import programs
from benchmarks.rig.drainer import Mode
from benchmarks.rig.drainers import drainer
from benchmarks.rollout import kubectl, manifests
from benchmarks.rollout.observer import Observer
from benchmarks.rollout.scene import LAYER, Scene
from shiplift.api.nodes import NodeRollout, RolloutPhase
from shiplift.facts import kinds
from shiplift.kube.store import Store

Begin = Callable[[], Callable[[], bool]]
"""What to do when the clock starts; it comes back with how to tell that the contest is over."""


class Name(StrEnum):
    """In the order in which they run."""

    EVERYTHING = "every pod at once"
    OURS = "ours"
    KUBECTL = "kubectl by script"


@contextlib.contextmanager
def prepared(name: Name, scene: Scene, observer: Observer) -> Generator[Begin]:
    """The contender, waiting for its start; ended afterwards."""
    match name:
        case Name.EVERYTHING:
            prepare = _everything(scene, observer)
        case Name.OURS:
            prepare = _operator(scene, observer)
        case Name.KUBECTL:
            prepare = _kubectl(scene, observer)
    with prepare as begin:
        yield begin


@contextlib.contextmanager
def _everything(scene: Scene, observer: Observer) -> Generator[Begin]:
    """No node is changed: it shows how quickly the rig replaces pods."""
    with drainer(scene.rig, Mode.IN_PLACE, scene.nodes) as start:

        def begin() -> Callable[[], bool]:
            finished = start()
            return lambda: finished(observer.store) and observer.replaced()

        yield begin


@contextlib.contextmanager
def _operator(scene: Scene, observer: Observer) -> Generator[Begin]:
    rig = scene.rig
    with programs.operator(LAYER, rig.operator, rig.folder / "operator.log") as running:

        def begin() -> Callable[[], bool]:
            with rig.cluster.client() as client:
                client.create(kinds.NODE_ROLLOUT, manifests.rollout(scene.size))
            return lambda: running.still_runs() and _is_complete(observer.store) and observer.changed()

        yield begin


@contextlib.contextmanager
def _kubectl(scene: Scene, observer: Observer) -> Generator[Begin]:
    with kubectl.script(scene.rig, scene.nodes, scene.size.max_unavailable) as script:

        def begin() -> Callable[[], bool]:
            script.start()
            return lambda: script.finished and observer.changed()

        yield begin


def _is_complete(store: Store) -> bool:
    row = store.snapshot(kinds.NODE_ROLLOUT).custom(kinds.NODE_ROLLOUT, manifests.ROLLOUT)
    return row is not None and cast("NodeRollout", row.object).status.phase is RolloutPhase.COMPLETE
