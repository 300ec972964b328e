"""The contenders, each a real program with its own account: how it starts, and when it has finished.

All begin from the same cluster, with whatever they need to run already running: the operator leads and is
idle, the drainer has its pods in memory. Then the clock starts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from enum import StrEnum
from typing import cast

from benchmarks.migrate import residue
from benchmarks.migrate.manifests import NEW_VERSION
from benchmarks.migrate.scene import LAYER, Scene
from benchmarks.recipe.base import Json
from benchmarks.rig import programs
from benchmarks.rig.drainer import Mode as DrainMode
from benchmarks.rig.drainers import drainer, kubectl_drain
from benchmarks.rig.programs import Begin, Finished
from shiplift.api.workloads import Cleanup, Hold, MigrationState, Mode, WorkloadMigration
from shiplift.facts import kinds
from shiplift.kube.store import Store

_NAME = "cluster"


class Name(StrEnum):
    """In the order in which they run."""

    EVERYTHING = "everything at once"
    OURS = "ours"
    SEED = "the seed as written"
    DRAIN = "drainer"
    KUBECTL = "kubectl drain"


@contextlib.contextmanager
def prepared(name: Name, scene: Scene) -> Generator[Begin]:
    """The contender, waiting for its start; ended afterwards."""
    match name:
        case Name.EVERYTHING:
            prepare = drainer(scene.rig, DrainMode.EVERYTHING, scene.old)
        case Name.DRAIN:
            prepare = drainer(scene.rig, DrainMode.NODES, scene.old)
        case Name.KUBECTL:
            prepare = kubectl_drain(scene.rig, scene.old)
        case Name.OURS:
            prepare = _operator(scene, name, {"mode": Mode.INJECT})
        case Name.SEED:
            asked = {"mode": Mode.TEMPLATE, "hold": Hold.ALWAYS, "cleanup": Cleanup.IMMEDIATE}
            prepare = _operator(scene, name, asked)
    with prepare as begin:
        yield begin


@contextlib.contextmanager
def _operator(scene: Scene, name: Name, spec: Json) -> Generator[Begin]:
    rig = scene.rig
    with programs.operator(LAYER, rig.operator, rig.folder / f"{name.name.lower()}.log") as running:

        def begin() -> Finished:
            with rig.cluster.client() as client:
                client.create(kinds.WORKLOAD_MIGRATION, _migration(spec))
            return lambda store: running.still_runs() and _is_finished(store) and not residue.count(scene)

        yield begin


def _migration(spec: Json) -> Json:
    plain = {key: str(value) for key, value in spec.items()}
    # the nodes are there from the start: none is waited for
    asked = {"target": NEW_VERSION, "waitForNodes": {"settle": "0s"}, **plain}
    return {"metadata": {"name": _NAME}, "spec": asked}


def _is_finished(store: Store) -> bool:
    """It says that there is nothing left to move; tidying up may still go on."""
    row = store.snapshot(kinds.WORKLOAD_MIGRATION).custom(kinds.WORKLOAD_MIGRATION, _NAME)
    if row is None:
        return False
    found = cast("WorkloadMigration", row.object)
    return found.status.state is MigrationState.NO_UPGRADE and found.status.observed_generation > 0
