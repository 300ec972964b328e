"""From the versions that a package has released to its channels, by the package's update graph.

Kept true: in `replaces-mode` a version takes over from what it names, and the highest version of a channel is
its head; in `semver-mode` each version takes over from the next lower one of the channel, whatever it names;
in `semver-skippatch-mode` only the highest patch of each minor stays, and takes over from the others of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby, pairwise

import msgspec

from shiplift.operators.catalog import chains
from shiplift.operators.catalog.model import Bundle, Channel, Entry, Fault, FaultKind, Package
from shiplift.operators.catalog.ranges import parse_range
from shiplift.operators.catalog.semver import SemverError, parse


class UpdateGraph(StrEnum):
    """How the versions of a package follow each other."""

    REPLACES = "replaces-mode"
    SEMVER = "semver-mode"
    SKIP_PATCH = "semver-skippatch-mode"


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle, and what its author says about where it belongs."""

    bundle: Bundle
    channels: tuple[str, ...]
    default_channel: str = ""
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""


Built = tuple[Package | None, list[Fault]]


def package(name: str, releases: Iterable[Release], mode: str) -> Built:
    """The package, unless nothing of it can be used, and everything that is wrong."""
    graph, faults = _mode(name, mode)
    usable = _distinct(name, releases, faults)
    usable = [_checked(name, one, faults) for one in usable]
    in_channels = [one for one in usable if one.channels]
    faults += [_homeless(name, one) for one in usable if not one.channels]
    if not in_channels:
        return None, [*faults, Fault(name, FaultKind.NO_CHANNEL, "no version of it is in a channel")]
    channels = [
        _channel(name, channel, in_channels, graph, faults) for channel in _channel_names(in_channels)
    ]
    bundles = tuple(one.bundle for one in _ascending(in_channels))
    return Package(name, _default(in_channels), tuple(channels), bundles), faults


def _mode(name: str, mode: str) -> tuple[UpdateGraph, list[Fault]]:
    known = {graph.value: graph for graph in UpdateGraph} | {"semver-skippatch": UpdateGraph.SKIP_PATCH}
    if mode in known:
        return known[mode], []
    if not mode:
        return UpdateGraph.REPLACES, []
    message = f"updateGraph {mode[:40]!r} is none of {', '.join(UpdateGraph)}; replaces-mode is taken"
    return UpdateGraph.REPLACES, [Fault(name, FaultKind.UPDATE_GRAPH, message)]


def _distinct(name: str, releases: Iterable[Release], faults: list[Fault]) -> list[Release]:
    """Without those that have the same name as another."""
    kept: list[Release] = []
    by_name = sorted(releases, key=lambda one: one.bundle.name)
    for bundle, group in groupby(by_name, key=lambda one: one.bundle.name):
        same = list(group)
        if len(same) == 1:
            kept += same
        else:
            message = f"{len(same)} bundles are called {bundle}; none of them is taken"
            faults.append(Fault(name, FaultKind.BUNDLE_TWICE, message))
    return kept


def _checked(name: str, release: Release, faults: list[Fault]) -> Release:
    entry, found = checked(name, _entry(release))
    faults += found
    return msgspec.structs.replace(release, skips=entry.skips, skip_range=entry.skip_range)


def checked(package: str, entry: Entry) -> tuple[Entry, list[Fault]]:
    """The entry without what cannot be followed in it."""
    faults: list[Fault] = []
    if "" in entry.skips:
        message = f"{entry.name} skips a version without a name"
        faults.append(Fault(package, FaultKind.SKIPS, message))
        entry = msgspec.structs.replace(entry, skips=tuple(filter(None, entry.skips)))
    try:
        _ = parse_range(entry.skip_range) if entry.skip_range else None
    except SemverError as error:
        faults.append(Fault(package, FaultKind.SKIP_RANGE, f"skipRange of {entry.name}: {error}"))
        entry = msgspec.structs.replace(entry, skip_range="")
    return entry, faults


def _entry(release: Release) -> Entry:
    return Entry(release.bundle.name, release.replaces, release.skips, release.skip_range)


def _homeless(name: str, release: Release) -> Fault:
    return Fault(name, FaultKind.BUNDLE_WITHOUT_CHANNEL, f"{release.bundle.name} is in no channel")


def _channel_names(releases: Iterable[Release]) -> list[str]:
    return sorted({channel for release in releases for channel in release.channels})


def _ascending(releases: Iterable[Release]) -> list[Release]:
    return sorted(releases, key=lambda one: (parse(one.bundle.version).rank, one.bundle.name))


def _default(releases: Sequence[Release]) -> str:
    """What the highest version that names one says; else the first channel, by name, of the highest."""
    ascending = _ascending(releases)
    named = [one.default_channel for one in ascending if one.default_channel]
    known = set(_channel_names(releases))
    return next((name for name in reversed(named) if name in known), min(ascending[-1].channels))


def _channel(
    package: str, name: str, releases: Iterable[Release], graph: UpdateGraph, faults: list[Fault]
) -> Channel:
    members = _ascending(one for one in releases if name in one.channels)
    if graph is UpdateGraph.REPLACES:
        channel = Channel(name, tuple(_entry(one) for one in members))
    else:
        members = _one_of_each(package, name, members, faults)
        channel = Channel(name, tuple(_CHAINS[graph](members)))
    faults += [Fault(package, kind, message) for kind, message in chains.findings(channel)]
    return channel


def _one_of_each(package: str, channel: str, ascending: list[Release], faults: list[Fault]) -> list[Release]:
    """Where two versions have no order (build metadata has none), the first by name."""
    kept: list[Release] = []
    for _, group in groupby(ascending, key=lambda one: parse(one.bundle.version).rank):
        first, *others = group
        kept.append(first)
        for other in others:
            message = f"channel {channel}: {other.bundle.name} and {first.bundle.name} are the same version; "
            faults.append(
                Fault(package, FaultKind.VERSION_TWICE, f"{message}{other.bundle.name} is left out")
            )
    return kept


def _chain(ascending: list[Release]) -> Iterator[Entry]:
    before = ""
    for release in ascending:
        yield Entry(release.bundle.name, before, (), release.skip_range)
        before = release.bundle.name


def _skipping_patches(ascending: list[Release]) -> Iterator[Entry]:
    lines = [
        list(group) for _, group in groupby(ascending, key=lambda one: parse(one.bundle.version).minor_line)
    ]
    tops: list[Release | None] = [None, *(line[-1] for line in lines)]
    for (before, top), line in zip(pairwise(tops), lines, strict=True):
        if top:
            skipped = tuple(one.bundle.name for one in line[:-1])
            yield Entry(top.bundle.name, before.bundle.name if before else "", skipped, top.skip_range)


_CHAINS: dict[UpdateGraph, Callable[[list[Release]], Iterator[Entry]]] = {
    UpdateGraph.SEMVER: _chain,
    UpdateGraph.SKIP_PATCH: _skipping_patches,
}
