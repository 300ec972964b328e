"""`shiplift catalog`: what catalogs of operators have, which version leads where, what blocks a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import catalog_check, catalog_crds, catalog_import, catalog_list, catalog_manifests
from shiplift.cli import catalog_reading as reading
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.operators.catalog.graph import Installed
    from shiplift.operators.catalog.kubernetes import Kubernetes
    from shiplift.operators.catalog.model import Bundle, Catalog, Channel, Package
    from shiplift.operators.catalog.paths import Answer, Objection
    from shiplift.operators.catalog.picture import Walk

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

    catalog = reading.load(source).catalog
    found = reading.package(catalog, package)
    drawn = [reading.channel(found, channel)] if channel else found.channels
    walk = _walk(catalog, found, reading.channel(found, channel), from_) if from_ else None
    svg = picture.draw(found, drawn, walk)
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
    from shiplift.view.values import plain

    answer = _asked(source, package, from_, to, channel, kubernetes)
    if answer.way:
        _show_way(answer)
    elif answer.why.name != "THERE":
        hint = plain(answer.hint) or "shiplift catalog graph draws the channel"
        raise CommandError(plain(answer.message), hint)
    say(plain(answer.message))


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


app.command(catalog_import.import_, name="import")
app.command(catalog_list.list_, name="list")
app.command(catalog_check.check)
app.command(catalog_crds.crds)
app.command(catalog_manifests.manifests)


def _walk(catalog: Catalog, package: Package, channel: Channel, from_: str) -> Walk | None:
    """The way to the head, to be drawn; what cannot be drawn of it is said."""
    from shiplift.operators.catalog.picture import Walk
    from shiplift.view.values import plain

    start = reading.installed(package, from_)
    answer = _with_doubt(catalog, package, _answer(package, channel.name, start))
    if not answer.way:
        say(f"no way is drawn: {plain(answer.message)}")
        return None
    if start.name not in {entry.name for entry in channel.entries}:
        say(plain(f"{start.name} is not in channel {channel.name}: its arrow comes from outside"))
    return Walk(channel.name, (start.name, *(hop.bundle.name for hop in answer.way)))


def _show_way(answer: Answer) -> None:
    rows = [
        (str(number), hop.bundle.version, hop.bundle.name, hop.by.value, hop.bundle.deprecated or "-")
        for number, hop in enumerate(answer.way, 1)
    ]
    reading.show(("HOP", "VERSION", "NAME", "BY", "DEPRECATED"), rows)


def _asked(source: Path, package: str, from_: str, to: str, channel: str, kubernetes: str) -> Answer:
    catalog = reading.load(source).catalog
    found = reading.package(catalog, package)
    goal = reading.bundle(found, to) if to else None
    start = reading.installed(found, from_)
    objection = _objection(reading.kubernetes(kubernetes)) if kubernetes else None
    answer = _answer(found, reading.channel(found, channel).name, start, goal, objection)
    return _with_doubt(catalog, found, answer)


def _answer(
    package: Package,
    channel: str,
    start: Installed,
    goal: Bundle | None = None,
    objection: Objection | None = None,
) -> Answer:
    from shiplift.operators.catalog import paths

    return paths.answer(package, channel, start, goal, objection)


def _with_doubt(catalog: Catalog, package: Package, answer: Answer) -> Answer:
    """The answer; that nothing is newer holds only for what was not left out."""
    import msgspec

    from shiplift.operators.catalog.paths import NOTHING_NEWER

    left_out = any(fault.leaves_versions_out for fault in catalog.faults_about(package.name))
    if not answer.message.endswith(NOTHING_NEWER) or not left_out:
        return answer
    doubt = "as far as is known: versions may have been left out for the faults that are told"
    return msgspec.structs.replace(answer, message=f"{answer.message}, {doubt}")


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
