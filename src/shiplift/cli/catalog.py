"""`shiplift catalog`: what catalogs of operators have, which version leads where, what blocks a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import catalog_check, catalog_crds, catalog_manifests
from shiplift.cli import catalog_reading as reading
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.operators.catalog.graph import ChannelGraph, Installed
    from shiplift.operators.catalog.kubernetes import Kubernetes
    from shiplift.operators.catalog.model import Bundle, Catalog, Package
    from shiplift.operators.catalog.paths import Answer, Objection
    from shiplift.operators.sources import Imported

app = App(
    name="catalog", help="Look into catalogs of operators: versions, ways from one to another, what blocks."
)

ChannelName = Annotated[
    str, Parameter(name="--channel", show_default=False, help="Default: the package's own.")
]
From = Annotated[str, Parameter(name="--from", help="The version that is installed, or its full name.")]
To = Annotated[str, Parameter(name="--to", show_default=False, help="Default: the head of the channel.")]
ForKubernetes = Annotated[
    str,
    Parameter(
        name="--kubernetes", show_default=False, help="Only through versions for this one, such as 1.36."
    ),
]


@app.command(name="import")
def import_(
    source: reading.Source,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], show_default=False)] = None,
    name: Annotated[str, Parameter(show_default=False)] = "",
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"])] = "shiplift-system",
) -> None:
    """Read a catalog, name what is wrong with it, and write what is left.

    Parameters
    ----------
    output
        A folder for the index and the manifests of the bundles.
    name
        Print an OperatorCatalog of this name. Without --output, with the ConfigMaps that hold it.
    namespace
        Where these ConfigMaps are to be.
    """
    from shiplift.operators import sources

    if not output and not name:
        raise CommandError(
            "import needs --output FOLDER, --name NAME, or both", "shiplift catalog import --help"
        )
    imported = reading.load(source)
    catalog = imported.catalog
    reading.tell_faults(catalog.faults)
    if not catalog.packages:
        raise CommandError(f"{source} has no package that can be used", "what is wrong is told above")
    if output:
        sources.write(imported, output)
    if name:
        _print_manifests(imported, name, namespace, output)
    left_out = f", {reading.counted(len(catalog.faults), 'fault')}" if catalog.faults else ""
    packages, bundles = (
        reading.counted(len(catalog.packages), "package"),
        reading.counted(catalog.bundles, "version"),
    )
    say(f"{packages} with {bundles}{left_out}{f'; written to {output}' if output else ''}")


@app.command(name="list")
def list_(source: reading.Source, package: str = "", /) -> None:
    """List the packages of a catalog, or the channels of one package.

    Parameters
    ----------
    package
        The package whose channels are listed.
    """
    catalog = reading.load(source).catalog
    if package:
        _list_channels(reading.package(catalog, package))
        reading.tell_faults([fault for fault in catalog.faults if fault.package == package])
    else:
        _list_packages(catalog)
        reading.tell_faults(catalog.faults)


@app.command
def graph(
    source: reading.Source,
    package: str,
    /,
    *,
    channel: ChannelName = "",
    from_: From = "",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], show_default=False)] = None,
) -> None:
    """Draw which version takes over from which, as SVG; with --from, the way to the head as well.

    Parameters
    ----------
    package
        The package.
    output
        The file; without one, standard output.
    """
    from shiplift.operators.catalog import picture

    found = reading.package(reading.load(source).catalog, package)
    drawn = [reading.channel(found, channel)] if channel else found.channels
    way: list[str] = []
    if from_:
        start = reading.installed(found, from_)
        answer = _answer(found, reading.channel(found, channel).name, start)
        way = [start.name, *(hop.bundle.name for hop in answer.way)]
    svg = picture.draw(found, drawn, way)
    if output:
        _write(output, svg)
    else:
        sys.stdout.write(svg)


@app.command
def path(
    source: reading.Source,
    package: str,
    /,
    *,
    from_: From,
    to: To = "",
    channel: ChannelName = "",
    kubernetes: ForKubernetes = "",
) -> None:
    """Show every version on the shortest way from an installed one to the head. Exit 1: there is no way.

    Parameters
    ----------
    package
        The package.
    """
    answer = _asked(source, package, from_, to, channel, kubernetes)
    if answer.way:
        _show_way(answer)
    elif answer.why.name != "THERE":
        raise CommandError(answer.message, answer.hint or "shiplift catalog graph draws the channel")
    say(answer.message)


@app.command
def why(
    source: reading.Source,
    package: str,
    /,
    *,
    from_: From,
    to: To = "",
    channel: ChannelName = "",
    kubernetes: ForKubernetes = "",
) -> None:
    """Say in words how it stands with the way from an installed version to the head.

    Parameters
    ----------
    package
        The package.
    """
    from shiplift.view.values import plain

    answer = _asked(source, package, from_, to, channel, kubernetes)
    sys.stdout.write(f"{plain(answer.message)}\n")
    for hop in answer.way:
        sys.stdout.write(f"  {plain(hop.bundle.name)} by {hop.by}\n")
    if answer.hint:
        sys.stdout.write(f"hint: {plain(answer.hint)}\n")


app.command(catalog_check.check)
app.command(catalog_crds.crds)
app.command(catalog_manifests.manifests)


def _print_manifests(imported: Imported, name: str, namespace: str, folder: Path | None) -> None:
    import yaml

    from shiplift.operators.catalog import index, manifests

    _check_name(name)
    if folder:
        objects = [manifests.in_folder(name, str(folder.resolve()))]
    else:
        data = index.encode(imported.catalog)
        try:
            objects = list(manifests.in_config_maps(name, namespace, data, imported.payloads))
        except manifests.TooLargeError as error:
            raise CommandError(str(error), "--output FOLDER writes the catalog into a folder") from error
    sys.stdout.write(yaml.safe_dump_all(objects, explicit_start=True, sort_keys=False, width=110))


def _check_name(name: str) -> None:
    from shiplift.operators.catalog.names import is_label

    if not is_label(name):
        raise CommandError(
            f"{name!r} is no name of a catalog", "lower-case letters, digits and -, as in community"
        )


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


def _show_way(answer: Answer) -> None:
    rows = [
        (str(number), hop.bundle.version, hop.bundle.name, hop.by.value, hop.bundle.deprecated or "-")
        for number, hop in enumerate(answer.way, 1)
    ]
    reading.show(("HOP", "VERSION", "NAME", "BY", "DEPRECATED"), rows)


def _asked(source: Path, package: str, from_: str, to: str, channel: str, kubernetes: str) -> Answer:
    found = reading.package(reading.load(source).catalog, package)
    goal = reading.bundle(found, to) if to else None
    start = reading.installed(found, from_)
    objection = _objection(reading.kubernetes(kubernetes)) if kubernetes else None
    return _answer(found, reading.channel(found, channel).name, start, goal, objection)


def _answer(
    package: Package,
    channel: str,
    start: Installed,
    goal: Bundle | None = None,
    objection: Objection | None = None,
) -> Answer:
    from shiplift.operators.catalog import paths

    return paths.answer(package, channel, start, goal, objection)


def _objection(version: Kubernetes) -> Objection:
    from shiplift.operators.catalog.kubernetes import objections

    return lambda bundle: "; ".join(objections(bundle, version))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "name a file in a folder of yours"
        ) from error
