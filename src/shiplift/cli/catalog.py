"""`shiplift catalog`: what catalogs of operators have, which version leads where, what blocks a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.operators.catalog.graph import ChannelGraph, Installed
    from shiplift.operators.catalog.kubernetes import Kubernetes
    from shiplift.operators.catalog.model import Bundle, Catalog, Channel, Fault, Package
    from shiplift.operators.catalog.paths import Answer, Objection
    from shiplift.operators.sources import Imported

app = App(
    name="catalog", help="Look into catalogs of operators: versions, ways from one to another, what blocks."
)

Source = Annotated[
    Path, Parameter(help="A folder that `import` wrote, folders of OLM bundles, or a file-based catalog.")
]
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
_SHOWN = 20
"""So many faults are told one by one."""


@app.command(name="import")
def import_(
    source: Source,
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
    imported = _load(source)
    catalog = imported.catalog
    _tell_faults(catalog.faults)
    if not catalog.packages:
        raise CommandError(f"{source} has no package that can be used", "what is wrong is told above")
    if output:
        sources.write(imported, output)
    if name:
        _print_manifests(imported, name, namespace, output)
    left_out = f", {_counted(len(catalog.faults), 'fault')}" if catalog.faults else ""
    packages, bundles = _counted(len(catalog.packages), "package"), _counted(catalog.bundles, "version")
    say(f"{packages} with {bundles}{left_out}{f'; written to {output}' if output else ''}")


@app.command(name="list")
def list_(source: Source, package: str = "", /) -> None:
    """List the packages of a catalog, or the channels of one package.

    Parameters
    ----------
    package
        The package whose channels are listed.
    """
    catalog = _load(source).catalog
    if package:
        _list_channels(_package(catalog, package))
        _tell_faults([fault for fault in catalog.faults if fault.package == package])
    else:
        _list_packages(catalog)
        _tell_faults(catalog.faults)


@app.command
def graph(
    source: Source,
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

    found = _package(_load(source).catalog, package)
    drawn = [_channel(found, channel)] if channel else found.channels
    way: list[str] = []
    if from_:
        start = _installed(found, from_)
        answer = _answer(found, _channel(found, channel).name, start)
        way = [start.name, *(hop.bundle.name for hop in answer.way)]
    svg = picture.draw(found, drawn, way)
    if output:
        _write(output, svg)
    else:
        sys.stdout.write(svg)


@app.command
def path(
    source: Source,
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
    source: Source,
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


@app.command
def check(
    source: Source,
    /,
    *,
    kubernetes: Annotated[str, Parameter(help="The version of Kubernetes, such as 1.36.")],
    installed: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
) -> None:
    """Say which operators block a version of Kubernetes. Exit 1: some do.

    Looked at: the oldest and the newest version of Kubernetes that an operator says it runs on, and kinds in
    its manifests that this version of Kubernetes does not serve.

    Parameters
    ----------
    installed
        What is installed, as PACKAGE@VERSION; may be given several times. Without: the head of every package.
    """
    from shiplift.operators.catalog.kubernetes import objections

    version = _kubernetes(kubernetes)
    catalog = _load(source).catalog
    looked_at = [_named(catalog, one) for one in installed] if installed else list(_heads(catalog))
    blocked = [(package, bundle, why) for package, bundle in looked_at for why in objections(bundle, version)]
    if blocked:
        _show_blocked(blocked, version)
        count = len({bundle.name for _, bundle, _ in blocked})
        raise CommandError(
            f"{count} of {_counted(len(looked_at), 'operator')} cannot run on Kubernetes {version}",
            "upgrade them to a version that can, before the cluster",
        )
    operators = _counted(len(looked_at), "operator")
    say(f"nothing that the catalog knows of {operators} speaks against Kubernetes {version}")


def _load(source: Path) -> Imported:
    from shiplift.operators import sources

    try:
        return sources.load(source)
    except sources.SourceError as error:
        raise CommandError(
            str(error), "name a folder that `shiplift catalog import` wrote, or one to import"
        ) from error


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


def _tell_faults(faults: Iterable[Fault]) -> None:
    from shiplift.view.values import plain

    listed = list(faults)
    for fault in listed[:_SHOWN]:
        about = f"{fault.package}: " if fault.package else ""
        say(f"{fault.kind}: {plain(about + fault.message)}")
    if len(listed) > _SHOWN:
        say(f"and {len(listed) - _SHOWN:,} more faults")


def _list_packages(catalog: Catalog) -> None:
    from shiplift.operators.catalog.graph import ChannelGraph

    rows: list[tuple[str, ...]] = []
    for package in catalog.packages:
        default = package.channel(package.default_channel)
        head = ChannelGraph(package, default).head if default else None
        counts = (str(len(package.channels)), str(len(package.bundles)))
        rows.append((package.name, package.default_channel or "-", head.version if head else "-", *counts))
    _show(("PACKAGE", "DEFAULT", "HEAD", "CHANNELS", "VERSIONS"), rows)


def _list_channels(package: Package) -> None:
    from shiplift.operators.catalog.graph import ChannelGraph

    rows: list[tuple[str, ...]] = []
    for channel in package.channels:
        heads = ChannelGraph(package, channel)
        default = "yes" if channel.name == package.default_channel else "-"
        rows.append(
            (channel.name, default, _heads_of(heads), str(len(channel.entries)), channel.deprecated or "-")
        )
    _show(("CHANNEL", "DEFAULT", "HEAD", "VERSIONS", "DEPRECATED"), rows)


def _heads_of(graph: ChannelGraph) -> str:
    """The head; where there are several, the one that counts and how many more."""
    head, more = graph.head, len(graph.heads) - 1
    return f"{head.version if head else '-'}{f' (and {more} more)' if more > 0 else ''}"


def _show(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    from rich.text import Text

    from shiplift.face import layout
    from shiplift.view.values import plain

    table = layout.table(*headers, wraps=headers[-1:])
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    access.show(access.terminal(), table)
    sys.stdout.flush()


def _show_way(answer: Answer) -> None:
    rows = [
        (str(number), hop.bundle.version, hop.bundle.name, hop.by.value, hop.bundle.deprecated or "-")
        for number, hop in enumerate(answer.way, 1)
    ]
    _show(("HOP", "VERSION", "NAME", "BY", "DEPRECATED"), rows)


def _show_blocked(blocked: list[tuple[Package, Bundle, str]], version: Kubernetes) -> None:
    rows = [
        (package.name, bundle.version, why, _way_out(package, bundle, version))
        for package, bundle, why in blocked
    ]
    _show(("PACKAGE", "VERSION", "WHY", "WAY OUT"), rows)


def _way_out(package: Package, bundle: Bundle, version: Kubernetes) -> str:
    """The lowest version that can be reached and runs there."""
    from shiplift.operators.catalog.graph import ChannelGraph
    from shiplift.operators.catalog.kubernetes import objections
    from shiplift.operators.catalog.paths import reachable

    start = _installed(package, bundle.name)
    reached = [
        one for channel in package.channels for one in reachable(ChannelGraph(package, channel), start)
    ]
    fit = [one for one in reached if not objections(one.bundle, version)]
    return f"upgrade to {min(fit, key=lambda one: one.version).bundle.version}" if fit else "-"


def _package(catalog: Catalog, name: str) -> Package:
    found = catalog.package(name)
    if found:
        return found
    import difflib

    close = difflib.get_close_matches(name, [package.name for package in catalog.packages], n=1)
    hint = f"did you mean {close[0]}?" if close else "shiplift catalog list names the packages"
    raise CommandError(f"there is no package {name!r} in this catalog", hint)


def _channel(package: Package, name: str) -> Channel:
    found = package.channel(name or package.default_channel)
    if found:
        return found
    known = ", ".join(channel.name for channel in package.channels)
    if not name:
        raise CommandError(f"package {package.name} has no default channel", f"--channel, one of {known}")
    raise CommandError(f"package {package.name} has no channel {name!r}", f"one of {known}")


def _installed(package: Package, name: str) -> Installed:
    from shiplift.operators.catalog.graph import installed

    found = installed(package, name)
    if found:
        return found
    hint = "a version as in 1.2.0, or a full name that the catalog has"
    raise CommandError(f"package {package.name} has no version {name!r}", hint)


def _bundle(package: Package, name: str) -> Bundle:
    found = package.bundle(name)
    if found:
        return found
    hint = f"shiplift catalog graph draws the versions of {package.name}"
    raise CommandError(f"package {package.name} has no version {name!r}", hint)


def _asked(source: Path, package: str, from_: str, to: str, channel: str, kubernetes: str) -> Answer:
    found = _package(_load(source).catalog, package)
    goal = _bundle(found, to) if to else None
    start = _installed(found, from_)
    objection = _objection(_kubernetes(kubernetes)) if kubernetes else None
    return _answer(found, _channel(found, channel).name, start, goal, objection)


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


def _kubernetes(text: str) -> Kubernetes:
    from shiplift.operators.catalog.kubernetes import read

    found = read(text)
    if found is None:
        raise CommandError(f"{text!r} is not a Kubernetes version", "write it like 1.36 or v1.36.3")
    return found


def _named(catalog: Catalog, text: str) -> tuple[Package, Bundle]:
    name, at, version = text.partition("@")
    if not at:
        raise CommandError(f"{text!r} names no version", "write it as PACKAGE@VERSION")
    package = _package(catalog, name)
    return package, _bundle(package, version)


def _heads(catalog: Catalog) -> Iterable[tuple[Package, Bundle]]:
    from shiplift.operators.catalog.graph import ChannelGraph

    for package in catalog.packages:
        channel = package.channel(package.default_channel) or package.channels[0]
        head = ChannelGraph(package, channel).head
        if head:
            yield package, head


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "name a file in a folder of yours"
        ) from error


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
