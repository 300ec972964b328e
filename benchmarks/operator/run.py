"""The benchmark: the operator with all layers, as users run it, on a real API server with a large cluster.

Pods change all the time, as in any cluster of that size. First there is nothing to do. Then there are a
migration and a rollout, and a new process that finds them: it decides, begins, and is held up by budgets.
Peak RSS is the highest since the start of either process. It is set against that of a tuned client-go
informer of pods and nodes: the other kinds that the operator watches have few objects here, or none.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

import msgspec

from benchmarks import build, machine
from benchmarks.contender import Contender, Name, command
from benchmarks.events import Updates
from benchmarks.fill import filled
from benchmarks.loader import Loader
from benchmarks.operator import scene
from benchmarks.operator.figures import AT_MOST, Used, figures, first_decisions, verdict
from benchmarks.process import cpu_seconds_of, memory
from benchmarks.progress import quiet, say
from benchmarks.recipe.base import Json
from benchmarks.rig import identities, programs
from benchmarks.rig.audit import Audit
from benchmarks.rig.cluster import Rig
from benchmarks.rollout import agents
from benchmarks.rollout.plan import Times
from benchmarks.server import copy_tree, endpoint, serving, workspace
from benchmarks.sync import FULL_PODS
from shiplift.api.nodes import NodeRollout
from shiplift.api.workloads import MigrationState, WorkloadMigration
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.operator.layers import LAYERS

DESCRIPTION = "the operator with all layers in a large cluster: CPU, memory, first decision"
RATE = 100
"""Updates of pods a second."""
SECONDS, SHORT_SECONDS = 60.0, 10.0
_SETTLE, _PATIENCE = 5.0, 300.0
_ALL = ",".join(LAYERS)


class Size(msgspec.Struct, frozen=True):
    """How large the cluster is, how often a pod changes, and for how many seconds a phase is measured."""

    pods: int
    nodes: int
    rate: int = RATE
    seconds: float = SECONDS


class Measured(msgspec.Struct, frozen=True):
    """What the two processes took, and how soon after the sync each layer had decided."""

    idle: Used
    busy: Used
    first: dict[str, float]


def run(size: Size) -> Json:
    if sys.platform != "linux":
        raise SystemExit("this benchmark measures processes through /proc, which only Linux has")
    quiet()
    about = machine.describe()
    build.program()
    kept = filled(size.pods, size.nodes)
    with workspace() as folder:
        copy_tree(kept, folder / "etcd")
        audit = Audit(folder, identities.ALL)
        with serving(folder / "etcd", folder, audit.flags) as cluster:
            rig = Rig(cluster, folder, audit)
            client_go = _client_go(rig)
            seen = measured(rig, size)
    found = figures(seen.idle, seen.busy, seen.first, client_go)
    print(verdict(found, judged=size.pods >= FULL_PODS))
    more = {**msgspec.structs.asdict(seen), "client_go_peak": client_go}
    return found | {"limits": {"at_most": AT_MOST}, "size": size, "machine": about, **more}


def measured(rig: Rig, size: Size) -> Measured:
    """Of the operator, on the recipe's cluster."""
    with Loader(endpoint(rig.cluster)) as loader:
        say("beside them: nodes and workloads for a migration and a rollout")
        scene.build(loader)
    rig.install(*LAYERS)
    idle = _idle(rig, size)
    return Measured(idle, *_busy(rig, size))


def _client_go(rig: Rig) -> int:
    say("client-go, tuned")
    with Contender(command(Name.TUNED, rig.cluster.kubeconfig)) as contender:
        time.sleep(_SETTLE)
        return contender.ask("report").peak


def _idle(rig: Rig, size: Size) -> Used:
    say("the operator, with nothing to do")
    with programs.operator(_ALL, rig.operator, rig.folder / "idle.log") as running:
        time.sleep(_SETTLE)
        return _used(rig, running, size)


def _busy(rig: Rig, size: Size) -> tuple[Used, dict[str, float]]:
    say("the operator, with a migration and a rollout that budgets hold up")
    with rig.cluster.client() as client:
        client.create(kinds.WORKLOAD_MIGRATION, scene.migration())
        client.create(kinds.NODE_ROLLOUT, scene.rollout())
    with agents.played(rig.cluster.kubeconfig, Times()):
        began = time.time()
        with programs.operator(_ALL, rig.operator, rig.folder / "busy.log") as running:
            with _watching(rig) as store:
                _wait(lambda: _held_up(store), running.still_runs)
            time.sleep(_SETTLE)
            used = _used(rig, running, size)
    return used, first_decisions(rig.requests(identities.OPERATOR), began)


def _used(rig: Rig, running: programs.Operator, size: Size) -> Used:
    """While pods change."""
    with _changing(rig, size):
        time.sleep(1)
        cpu, began = cpu_seconds_of(running.pid), time.monotonic()
        time.sleep(size.seconds)
        share = (cpu_seconds_of(running.pid) - cpu) / (time.monotonic() - began)
    running.still_runs()
    used = Used(share, memory(running.pid).peak)
    say(f"{share:.3f} of a core, {used.peak >> 20} MiB")
    return used


@contextmanager
def _changing(rig: Rig, size: Size) -> Generator[None]:
    """Pods of the recipe change, a little longer than what is measured takes."""
    updates = Updates(size.pods, size.nodes)
    count = int(size.rate * (size.seconds + 2))
    with Loader(endpoint(rig.cluster)) as loader:
        thread = threading.Thread(target=updates.make, args=(loader, count, size.rate), daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join()


@contextmanager
def _watching(rig: Rig) -> Generator[Store]:
    """What our own objects say; little enough not to disturb what is measured, and ended before that."""
    store = Store(rig.cluster.credentials(), [Watch(kinds.WORKLOAD_MIGRATION), Watch(kinds.NODE_ROLLOUT)])
    store.start()
    try:
        yield store
    finally:
        store.stop()


def _held_up(store: Store) -> bool:
    """Whether both are under way, and a budget keeps the pods of a node."""
    migration = cast("WorkloadMigration | None", _object(store, kinds.WORKLOAD_MIGRATION, scene.MIGRATION))
    rollout = cast("NodeRollout | None", _object(store, kinds.NODE_ROLLOUT, scene.ROLLOUT))
    if migration is None or rollout is None:
        return False
    blocked = [one for one in rollout.status.nodes if any(found.budget for found in one.blockers)]
    return migration.status.state is MigrationState.UPGRADE and bool(blocked)


def _object(store: Store, kind: Kind, name: str) -> object | None:
    row: Custom | None = store.snapshot(kind).custom(kind, name)
    return row.object if row is not None else None


def _wait(done: Callable[[], bool], check: Callable[[], object]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {_PATIENCE:.0f} s no budget holds up the migration and the rollout")
        time.sleep(0.2)
