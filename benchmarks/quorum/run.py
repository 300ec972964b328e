"""The benchmark: swaps in place by the operator, beside rolling updates of the StatefulSet and all pods made
anew at once, each on four fresh servers in real pods of one machine with a kubelet and containerd.

All servers share that machine: nothing is scheduled across machines, and an image is pulled from the machine
next to it, once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import machine, verdict
from benchmarks.progress import quiet, say
from benchmarks.quorum import figures
from benchmarks.quorum.contest import Job, Results
from benchmarks.quorum.figures import Run
from benchmarks.recipe.base import Json
from tests.minio import builds
from tests.quorum.land import Land, land
from tests.quorum.rig import NEW, OLD

DESCRIPTION = "the binary of four MinIO servers swapped, against rolling updates and all pods at once"
CLEAN, PROVOKED = 5, 3


class Size(msgspec.Struct, frozen=True):
    """How often."""

    in_place: int = CLEAN
    provoked: int = PROVOKED


USUAL, SHORT = Size(), Size(1, 1)


def run(size: Size = USUAL) -> Json:
    quiet()
    about = machine.describe()
    say("a machine with Kubernetes, and images of two releases")
    programs = {one.tag: builds.program(one) for one in (OLD, NEW)}
    with (
        tempfile.TemporaryDirectory(prefix="shiplift-quorum-") as folder,
        land(Path(folder, "land"), Path(folder, "clusters"), programs) as found,
    ):
        results = _contest(found, size, Path(folder, "runs"))
    return _told(results, about, judged=size.in_place >= CLEAN)


def _contest(found: Land, size: Size, folder: Path) -> Results:
    """In the machine's own network: pods are not to be reached from anywhere else."""
    folder.mkdir()
    job = Job(
        str(found.machines.kubeconfig),
        str(found.install()),
        str(found.authority),
        str(folder),
        found.key.public,
        size.in_place,
        size.provoked,
    )
    results = folder / "results.json"
    command = [*found.within, sys.executable, "-m", "benchmarks.quorum.contest", results]
    subprocess.run(command, input=msgspec.json.encode(job), check=True)
    return msgspec.json.decode(results.read_bytes(), type=Results)


def _told(results: Results, about: Json, *, judged: bool) -> Json:
    told = figures.figures(
        results.in_place,
        results.provoked,
        results.rolling,
        results.recreated,
        gated_finished=results.gated_finished,
    )
    named: dict[str, Sequence[Run]] = {
        "in place": results.in_place,
        "in place, partial": results.provoked,
        "rolling, live readiness": [results.rolling],
        "all at once": [results.recreated],
    }
    print(figures.table(named))
    print(verdict.verdict(told, figures.AT_MOST, judged=judged, meant_for="five runs"))
    return told | {
        "contenders": figures.told_of_all(named),
        "limits": {"at_most": figures.AT_MOST},
        "machine": about,
        "runs": named,
    }
