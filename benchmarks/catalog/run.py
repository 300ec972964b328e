"""How long a catalog of 347 packages takes: imported from its files, loaded from our index, and asked what
takes over from each of its 6,032 versions. What is loaded, in a process of its own each time."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks import build
from benchmarks.catalog import data
from benchmarks.process import memory
from benchmarks.progress import say
from benchmarks.recipe.base import Json
from benchmarks.verdict import verdict
from shiplift.local.errors import LocalError
from shiplift.operators import sources
from shiplift.operators.catalog import index
from shiplift.operators.catalog.graph import ChannelGraph, Installed
from shiplift.operators.catalog.model import Catalog
from shiplift.operators.catalog.semver import parse

DESCRIPTION = "a real catalog of operators: imported, loaded, and asked for every successor"
_LIMITS = {"load_s": 0.5, "rss_mib": 100.0, "successors_s": 1.0}
_PACKAGES, _BUNDLES = 300, 5_000
"""The limits are for a catalog of at least so many."""


_CLEAN, _DIRTY = "clean", "dirty"


class NoDataError(RuntimeError):
    """The data is not here."""

    hint = "put it beside the clone, in ../shared/data, or name its folder in SHIPLIFT_DATA"


class Round(msgspec.Struct):
    """What one process measured."""

    load_s: float
    rss_mib: float
    successors_s: float
    packages: int
    bundles: int
    successors: int


def run(rounds: int) -> Json:
    with tempfile.TemporaryDirectory(prefix="catalog-") as temporary:
        files, written = Path(temporary, "files"), Path(temporary, "index")
        dirty = _write(files)
        imports = [_import(files, written, dirty) for _ in range(rounds)]
        measured = [_in_a_process(written) for _ in range(rounds)]
        validations = _validations(files / _CLEAN, rounds)
    last = measured[-1]
    found = {"import_s": statistics.median(imports)}
    found |= {name: statistics.median(getattr(one, name) for one in measured) for name in _LIMITS}
    found |= {"opm_validate_s": statistics.median(validations)} if validations else {}
    judged = last.packages >= _PACKAGES and last.bundles >= _BUNDLES
    print(f"{last.packages:,} packages, {last.bundles:,} versions, {last.successors:,} successors")
    print(verdict(found, {}, _LIMITS, judged=judged, meant_for="the whole catalog"))
    return dict(found) | {"packages": last.packages, "bundles": last.bundles, "successors": last.successors}


def _write(folder: Path) -> set[str]:
    """All packages; those with faults, which operator-registry refuses, apart. Which they are."""
    rows = data.rows()
    if rows is None:
        raise NoDataError(f"there is no catalog in {data.folder()}")
    dirty: set[str] = set()
    for name, listed in rows.items():
        package, faults = data.package(name, listed)
        if faults:
            dirty.add(name)
        if package:
            data.write(package, folder / (_DIRTY if faults else _CLEAN) / name)
    return dirty


def _import(files: Path, written: Path, dirty: set[str]) -> float:
    begin = time.perf_counter()
    imported = sources.load(files)
    sources.write(imported, written)
    took = time.perf_counter() - begin
    unexpected = [fault for fault in imported.catalog.faults if fault.package not in dirty]
    if unexpected:
        raise RuntimeError(f"a clean package has a fault: {unexpected[0]}")
    return took


def _in_a_process(written: Path) -> Round:
    command = [sys.executable, "-m", "benchmarks.catalog.run", str(written)]
    done = subprocess.run(command, capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Round)


def _validations(files: Path, rounds: int) -> list[float]:
    """Nothing is compared where operator-registry cannot be built."""
    try:
        program = build.program("registry")
    except (LocalError, subprocess.CalledProcessError) as error:
        say(f"opm validate is not beside it: {error}")
        return []
    return [_validate(program, files) for _ in range(rounds)]


def _validate(program: Path, files: Path) -> float:
    """What `opm validate` does, on the same files."""
    begin = time.perf_counter()
    done = subprocess.run([program, "validate", files], capture_output=True, text=True, check=False)
    if done.returncode:
        say(done.stderr)
        raise RuntimeError("operator-registry refuses the catalog")
    return time.perf_counter() - begin


def measure(written: Path) -> Round:
    """In this process: how long, and by how much it grows."""
    before = memory().rss
    begin = time.perf_counter()
    catalog = index.decode((written / sources.INDEX).read_bytes())
    loaded = time.perf_counter()
    successors = count_successors(catalog)
    asked = time.perf_counter()
    grown = (memory().peak - before) / (1 << 20)
    counts = len(catalog.packages), catalog.bundles, successors
    return Round(loaded - begin, grown, asked - loaded, *counts)


def count_successors(catalog: Catalog) -> int:
    """What takes over from each version in each channel of its package, counted."""
    found = 0
    for package in catalog.packages:
        graphs = [ChannelGraph(package, channel) for channel in package.channels]
        for bundle in package.bundles:
            installed = Installed(bundle.name, parse(bundle.version))
            found += sum(len(graph.successors(installed)) for graph in graphs)
    return found


if __name__ == "__main__":
    print(msgspec.json.encode(measure(Path(sys.argv[1]))).decode())
