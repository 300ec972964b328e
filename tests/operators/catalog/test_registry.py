"""operator-registry and blang/semver, the programs that catalogs are made with, say the same as we do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import build
from benchmarks.catalog import data
from shiplift.operators import sources
from shiplift.operators.catalog import chains
from shiplift.operators.catalog.graph import ChannelGraph, Installed
from shiplift.operators.catalog.model import Channel, Entry, FaultKind, Package
from shiplift.operators.catalog.ranges import parse_range
from shiplift.operators.catalog.releases import package as released
from shiplift.operators.catalog.semver import SemverError, parse
from tests.examples import tries
from tests.operators.catalog.building import (
    bundle_document,
    channel_document,
    package_document,
)

VERSIONS = ["0.9.0", "1.0.0-rc.1", "1.0.0", "1.0.5", "1.1.0", "1.2.0-x", "1.2.3", "1.3.0", "2.0.0", "3.0.0"]
Json = dict[str, Any]


class Registry:
    """The program, as long as somebody asks it."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, question: str, **about: Any) -> Json:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(msgspec.json.encode({"ask": question, **about}) + b"\n")
        self.process.stdin.flush()
        return msgspec.json.decode(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def registry(programs: dict[str, str]) -> Iterator[Registry]:
    """Not where nobody waits for programs to be built."""
    started = Registry(build.program("registry"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def rows() -> dict[str, list[data.Row]]:
    found = data.rows()
    if found is None:
        pytest.skip(f"there is no catalog in {data.folder()}")
    return found


def ours(text: str) -> bool:
    try:
        parse(text)
    except SemverError:
        return False
    return True


def holds(text: str) -> list[bool] | None:
    try:
        range_ = parse_range(text)
    except SemverError:
        return None
    return [range_.holds(parse(version)) for version in VERSIONS]


def order(text: str) -> list[int]:
    version = parse(text)
    return [(version > other) - (version < other) for other in map(parse, VERSIONS)]


SIGNS = st.sampled_from(["", "=", "==", "!", "!=", "<", "<=", ">", ">=", "~", "^", ">= ", "< "])
NUMBERS = st.sampled_from(["0", "1", "2", "3", "x", "10", "01", "-1", "+1", ""])
PLAIN = st.lists(NUMBERS, min_size=1, max_size=4).map(".".join)
TAILS = st.sampled_from(["", "-rc.1", "-x", "-a.x", "+b", "-01", "-"])
PARTS = st.tuples(SIGNS, PLAIN, TAILS).map("".join)
RANGES = st.lists(PARTS | st.sampled_from(["||", " ", "a"]), max_size=5).map(" ".join)


@settings(max_examples=tries(1500), suppress_health_check=list(HealthCheck))
@given(PARTS | st.text(alphabet="0123456789.-+ax", max_size=16))
def test_the_same_texts_are_versions_and_stand_in_the_same_order(registry: Registry, text: str) -> None:
    said = registry.ask("compare", text=text, versions=VERSIONS)
    assert ours(text) is not bool(said["error"]), said
    if not said["error"]:
        assert order(text) == said["order"]


@settings(max_examples=tries(3000), suppress_health_check=list(HealthCheck))
@given(RANGES | st.text(alphabet="0123456789.x<>=!|~ -", max_size=24))
def test_the_same_texts_are_ranges_and_hold_the_same_versions(registry: Registry, text: str) -> None:
    said = registry.ask("range", text=text, versions=VERSIONS)
    assert holds(text) == (None if said["error"] else said["holds"]), (text, said)


def test_every_version_and_range_of_the_catalog_is_read_alike(
    registry: Registry, rows: dict[str, list[data.Row]]
) -> None:
    listed = [row for package in rows.values() for row in package]
    for text in {row.version for row in listed}:
        assert order(text) == registry.ask("compare", text=text, versions=VERSIONS)["order"]
    for text in {row.skip_range for row in listed if row.skip_range}:
        said = registry.ask("range", text=text, versions=VERSIONS)
        assert holds(text) == (None if said["error"] else said["holds"])


def successors(package: Package, channel: Channel) -> dict[str, list[str]]:
    graph = ChannelGraph(package, channel)
    found = {
        one.name: sorted(
            next_.bundle.name for next_ in graph.successors(Installed(one.name, parse(one.version)))
        )
        for one in package.bundles
    }
    return {name: names for name, names in found.items() if names}


def compare(package: Package, said: dict[str, Json]) -> None:
    """Heads and successors of every channel."""
    assert {channel.name for channel in package.channels} == set(said)
    for channel in package.channels:
        theirs = said[channel.name]
        heads = ChannelGraph(package, channel).heads
        assert list(heads) == ([theirs["head"]] if theirs["head"] else told_heads(theirs["trouble"]))
        assert successors(package, channel) == {k: v for k, v in theirs["successors"].items() if v}


def told_heads(trouble: str) -> list[str]:
    _, several, names = trouble.partition("multiple channel heads found in graph: ")
    return names.split(", ") if several else []


def test_each_package_of_the_catalog_has_the_same_heads_successors_and_verdict(
    registry: Registry, rows: dict[str, list[data.Row]], tmp_path: Path
) -> None:
    counted = 0
    for name, listed in rows.items():
        package, _ = data.package(name, listed)
        if package is None:
            continue
        data.write(package, tmp_path / name)
        said = registry.ask("catalog", folder=str(tmp_path / name))
        found = sources.load(tmp_path / name).catalog
        assert bool(found.faults) is bool(said["error"]), (found.faults, said["error"])
        compare(package, said["channels"][name])
        counted += len(package.bundles)
    assert counted > 5_000


def test_all_clean_packages_together_are_a_catalog_for_both(
    registry: Registry, rows: dict[str, list[data.Row]], tmp_path: Path
) -> None:
    clean = 0
    for name, listed in rows.items():
        package, faults = data.package(name, listed)
        if package and not faults:
            data.write(package, tmp_path / name)
            clean += 1
    said = registry.ask("catalog", folder=str(tmp_path))
    imported = sources.load(tmp_path)
    assert said["error"] == ""
    assert imported.catalog.faults == ()
    assert len(imported.catalog.packages) == clean > 300


def test_versions_are_chained_as_registry_does_in_semver_mode(
    registry: Registry, rows: dict[str, list[data.Row]]
) -> None:
    compared = 0
    for name, listed, ours in in_mode(rows, "semver-mode"):
        assert ours == by_registry(registry, listed, skips=False), name
        compared += 1
    assert compared > 300


def test_where_patches_are_skipped_the_same_versions_stay(
    registry: Registry, rows: dict[str, list[data.Row]]
) -> None:
    """Registry forgets, with each patch that it adds, what the patch before it replaced; we do not."""
    for name, listed, ours in in_mode(rows, "semver-skippatch"):
        theirs = by_registry(registry, listed, skips=True)
        assert {channel: set(nodes) for channel, nodes in ours.items()} == {
            channel: set(nodes) for channel, nodes in theirs.items()
        }, name
        for channel, nodes in theirs.items():
            assert all(set(replaced) <= set(ours[channel][node]) for node, replaced in nodes.items()), name


def in_mode(rows: dict[str, list[data.Row]], mode: str) -> Iterator[tuple[str, list[data.Row], Json]]:
    """Every package, whatever its own mode is, as this one has it."""
    for name, listed in rows.items():
        in_channels = [row for row in listed if row.channels]
        package, faults = released(name, [row.release() for row in in_channels], mode)
        if package and not any(fault.kind is FaultKind.VERSION_TWICE for fault in faults):
            yield name, in_channels, chained(package)


def chained(package: Package) -> dict[str, dict[str, list[str]]]:
    return {
        channel.name: {one.name: replaced(one) for one in channel.entries} for channel in package.channels
    }


def replaced(one: Entry) -> list[str]:
    return sorted({*one.skips, one.replaces} - {""})


def by_registry(registry: Registry, listed: list[data.Row], *, skips: bool) -> Json:
    """Added from the lowest on: each as it was published."""
    ascending = sorted(listed, key=lambda row: (parse(row.version).rank, row.name))
    releases = [
        {"name": row.name, "version": row.version, "channels": ",".join(row.channels)} for row in ascending
    ]
    said = registry.ask("semver", releases=releases, skipPatch=skips)
    assert said["error"] == ""
    return said["replaces"]


NAMES = st.sampled_from([f"app.v1.{n}.0" for n in range(5)])
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "replaces": NAMES,
            "skips": st.lists(NAMES, max_size=2),
            "skipRange": st.sampled_from(["<1.2.0", ">=1.0.0 <1.4.0"]),
        },
    ),
    max_size=5,
)


@settings(max_examples=tries(600), suppress_health_check=list(HealthCheck))
@given(ENTRIES, ENTRIES, st.sets(NAMES), st.sampled_from(["stable", "fast", ""]))
def test_any_small_catalog_gets_the_same_verdict(
    registry: Registry,
    tmp_path_factory: pytest.TempPathFactory,
    stable: list[Json],
    fast: list[Json],
    bundles: set[str],
    default: str,
) -> None:
    documents = [
        package_document(default=default),
        channel_document(*stable),
        *([channel_document(*fast, name="fast")] if fast else []),
        *(bundle_document(name.removeprefix("app.v")) for name in sorted(bundles)),
    ]
    folder = tmp_path_factory.mktemp("catalog")
    (folder / "catalog.json").write_bytes(b"\n".join(msgspec.json.encode(one) for one in documents))
    said = registry.ask("catalog", folder=str(folder))
    found = sources.load(folder).catalog
    assert bool(found.faults) is bool(said["error"]), (found.faults, said["error"])
    for package in found.packages if not said["error"] else ():
        compare(package, said["channels"]["app"])


def test_a_chain_is_judged_as_registry_judges_it(registry: Registry, tmp_path: Path) -> None:
    """A range that it never reads is the one thing that we name and it does not."""
    documents = [
        package_document(),
        channel_document({"name": "app.v1.0.0", "skipRange": "soon"}),
        bundle_document("1.0.0"),
    ]
    (tmp_path / "catalog.json").write_bytes(b"\n".join(msgspec.json.encode(one) for one in documents))
    found = sources.load(tmp_path).catalog
    assert [fault.kind for fault in found.faults] == [FaultKind.SKIP_RANGE]
    assert list(chains.findings(found.packages[0].channels[0])) == []
    done = subprocess.run([build.program("registry"), "validate", tmp_path], check=False)
    assert done.returncode == 0
