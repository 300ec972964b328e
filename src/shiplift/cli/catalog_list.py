"""`shiplift catalog list`: the packages of a catalog, or the channels and versions of one of them."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from shiplift.cli import catalog_reading as reading

if TYPE_CHECKING:
    from shiplift.operators.catalog.graph import ChannelGraph
    from shiplift.operators.catalog.model import Catalog, Package


def list_(source: reading.Source, package: str = "", /) -> None:
    """List the packages of a catalog, or the channels and versions of one package.

    Parameters
    ----------
    package
        The package whose channels and versions are listed.
    """
    catalog = reading.load(source).catalog
    if package:
        found = reading.package(catalog, package)
        _list_channels(found)
        sys.stdout.write("\n")
        _list_versions(found)
    else:
        reading.tell_all(source, catalog)
        _list_packages(catalog)


def _list_packages(catalog: Catalog) -> None:
    from shiplift.operators.catalog.graph import ChannelGraph

    rows: list[tuple[str, ...]] = []
    for package in catalog.packages:
        default = package.channel(package.default_channel)
        head = ChannelGraph(package, default).head if default else None
        counts = (str(len(package.channels)), str(len(package.bundles)))
        rows.append((package.name, package.default_channel or "-", head.version if head else "-", *counts))
    reading.show(("PACKAGE", "DEFAULT", "HEAD", "CHANNELS", "VERSIONS"), rows)


def _list_channels(package: Package) -> None:
    from shiplift.operators.catalog.graph import ChannelGraph

    rows: list[tuple[str, ...]] = []
    for channel in package.channels:
        heads = ChannelGraph(package, channel)
        default = "yes" if channel.name == package.default_channel else "-"
        rows.append(
            (channel.name, default, _heads_of(heads), str(len(channel.entries)), channel.deprecated or "-")
        )
    reading.show(("CHANNEL", "DEFAULT", "HEAD", "VERSIONS", "DEPRECATED"), rows)


def _heads_of(graph: ChannelGraph) -> str:
    """The head; where there are several, the one that counts and how many more."""
    head, more = graph.head, len(graph.heads) - 1
    return f"{head.version if head else '-'}{f' (and {more} more)' if more > 0 else ''}"


def _list_versions(package: Package) -> None:
    """The highest first, each with the channels that have it."""
    from shiplift.operators.catalog.semver import parse

    channels: dict[str, list[str]] = defaultdict(list)
    for channel in package.channels:
        for entry in channel.entries:
            channels[entry.name].append(channel.name)
    bundles = sorted(package.bundles, key=lambda one: (parse(one.version).rank, one.name), reverse=True)
    rows = [
        (one.version, one.name, ", ".join(channels[one.name]) or "-", one.deprecated or "-")
        for one in bundles
    ]
    reading.show(("VERSION", "NAME", "CHANNELS", "DEPRECATED"), rows)
