"""How long one move takes on the idle cluster: from the eviction of a pod until its successor is Ready."""

from __future__ import annotations

import statistics
import time

from benchmarks.migrate.plan import Kind, Workload
from benchmarks.migrate.scene import Scene
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.kube.client import Client
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch

_TIMES = 6
_PATIENCE = 60.0
_LOOK_EVERY = 0.005


def moves_alone(scene: Scene) -> dict[Kind, float]:
    """The mean over several, for each kind of workload there is."""
    store = Store(scene.rig.cluster.credentials(), [Watch(kinds.POD)])
    store.start()
    try:
        if not store.wait_synced(_PATIENCE):
            raise TimeoutError("the store did not sync")
        with scene.rig.cluster.client() as client:
            return {kind: statistics.mean(_times(kind, scene, store, client)) for kind in _present(scene)}
    finally:
        store.stop()


def _present(scene: Scene) -> list[Kind]:
    return sorted({one.kind for one in scene.workloads})


def _times(kind: Kind, scene: Scene, store: Store, client: Client) -> list[float]:
    chosen = [one for one in scene.workloads if one.kind is kind][:_TIMES]
    return [_move(one, store, client) for one in chosen]


def _move(one: Workload, store: Store, client: Client) -> float:
    before = {pod.uid for pod in _pods(one, store)}
    pod = next(pod for pod in _pods(one, store))
    began = time.monotonic()
    client.evict(pod.name, pod.namespace, uid=pod.uid)
    while not any(other.ready and other.uid not in before for other in _pods(one, store)):
        if time.monotonic() > began + _PATIENCE:
            raise TimeoutError(f"nobody follows {pod.name}")
        time.sleep(_LOOK_EVERY)
    return time.monotonic() - began


def _pods(one: Workload, store: Store) -> list[Pod]:
    selector = Selector(Labels(app=one.name))
    return list(store.snapshot(kinds.POD).pods_matching(one.namespace, selector))
