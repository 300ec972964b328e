"""Which version takes over from which, in one channel.

Kept true: a version is a successor of an installed one when it is higher and `replaces` names the installed
one, or `skips` has it, or `skipRange` covers its version. Whether the installed one is in the channel, or in
the catalog at all, does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from shiplift.operators.catalog.model import Bundle, Channel, Entry, Package
from shiplift.operators.catalog.ranges import Range, parse_range
from shiplift.operators.catalog.semver import SemverError, Version, parse


class By(StrEnum):
    """What makes a version a successor."""

    REPLACES = "replaces"
    SKIPS = "skips"
    SKIP_RANGE = "skipRange"


class Installed(msgspec.Struct, frozen=True):
    """A version that runs somewhere: by name and version, whether the catalog has it or not."""

    name: str
    version: Version


class Successor(msgspec.Struct, frozen=True):
    """A version that takes over from an installed one, and what says so."""

    bundle: Bundle
    version: Version
    by: By

    @property
    def installed(self) -> Installed:
        """Itself, once it runs."""
        return Installed(self.bundle.name, self.version)


class ChannelGraph:
    """The successors in one channel."""

    def __init__(self, package: Package, channel: Channel) -> None:
        self.channel = channel
        self.bundles: Mapping[str, Bundle] = {bundle.name: bundle for bundle in package.bundles}
        self.heads = heads(channel.entries)
        self._takes_over: dict[str, dict[str, By]] = defaultdict(dict)
        self._ranges: list[tuple[Range, str]] = []
        for entry in channel.entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        for name in entry.skips:
            self._takes_over[name][entry.name] = By.SKIPS
        if entry.replaces:
            self._takes_over[entry.replaces][entry.name] = By.REPLACES
        if entry.skip_range:
            self._ranges.append((parse_range(entry.skip_range), entry.name))

    @property
    def head(self) -> Bundle | None:
        """The version that the channel leads to: of several heads the highest."""
        known = [self.bundles[name] for name in self.heads if name in self.bundles]
        return max(known, key=lambda bundle: parse(bundle.version), default=None)

    def successors(self, installed: Installed) -> tuple[Successor, ...]:
        """All versions that take over from this one, the highest first."""
        named = {name: By.SKIP_RANGE for range_, name in self._ranges if range_.holds(installed.version)}
        named |= self._takes_over.get(installed.name, {})
        found = [self._successor(name, by) for name, by in named.items() if name in self.bundles]
        higher = [one for one in found if one.version > installed.version]
        return tuple(sorted(higher, key=lambda one: (one.version, one.bundle.name), reverse=True))

    def _successor(self, name: str, by: By) -> Successor:
        bundle = self.bundles[name]
        return Successor(bundle, parse(bundle.version), by)


def heads(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The entries that no other replaces or skips, by name."""
    entries = tuple(entries)
    followed = {entry.replaces for entry in entries} | {name for entry in entries for name in entry.skips}
    return tuple(sorted(entry.name for entry in entries if entry.name not in followed))


def installed(package: Package, name: str) -> Installed | None:
    """What somebody calls by name or version, whether the catalog has it or not; none where it is neither."""
    if bundle := package.bundle(name):
        return Installed(bundle.name, parse(bundle.version))
    try:
        return Installed(name, parse(name.removeprefix("v")))
    except SemverError:
        return None
