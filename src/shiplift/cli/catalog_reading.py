"""What commands about catalogs share: how a source is read, and how what somebody names is found in it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shiplift.cli import access
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.operators.catalog.graph import Installed
    from shiplift.operators.catalog.kubernetes import Kubernetes
    from shiplift.operators.catalog.model import Bundle, Catalog, Channel, Fault, Package
    from shiplift.operators.sources import Imported

Source = Annotated[
    Path, Parameter(help="A folder that `import` wrote, folders of OLM bundles, or a file-based catalog.")
]
_SHOWN = 20
"""So many faults are told one by one."""
_NOTHING_THERE = "a catalog has documents of schema olm.package, olm.channel and olm.bundle"


def load(source: Path) -> Imported:
    from shiplift.operators import sources

    try:
        return sources.load(source)
    except sources.SourceError as error:
        raise CommandError(
            str(error), "name a folder that `shiplift catalog import` wrote, or one to import"
        ) from error


def tell_all(source: Path, catalog: Catalog) -> None:
    """Tell everything that is wrong with a catalog; one of which nothing is left is an error."""
    tell_faults(catalog.faults)
    if not catalog.packages:
        hint = "what is wrong is told above" if catalog.faults else _NOTHING_THERE
        raise CommandError(f"{source} has no package that can be used", hint)


def tell_faults(faults: Iterable[Fault]) -> None:
    listed = list(faults)
    for fault in listed[:_SHOWN]:
        about = f"{short(fault.package, 80)}: " if fault.package else ""
        say(f"{fault.kind}: {about}{short(fault.message)}")
    if len(listed) > _SHOWN:
        say(f"and {len(listed) - _SHOWN:,} more faults")


def short(text: str, most: int = 300) -> str:
    """What a catalog says, in one line that a terminal can bear."""
    from shiplift.view.values import plain

    line = plain(text[: most + 1])
    return line if len(text) <= most else f"{line[: most - 1]}…"


def show(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    from rich.text import Text

    from shiplift.face import layout
    from shiplift.view.values import plain

    table = layout.table(*headers, wraps=headers[-1:])
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    access.show(access.terminal(), table)
    sys.stdout.flush()


def package(catalog: Catalog, name: str) -> Package:
    """The package of that name; what is wrong with it, or with whole files, is told before."""
    tell_faults(catalog.faults_about(name))
    return find(catalog, name)


def find(catalog: Catalog, name: str) -> Package:
    """The package of that name, where what is wrong is told already."""
    found = catalog.package(name)
    if found:
        return found
    faults = catalog.faults_about(name)
    own = [fault for fault in faults if fault.package == name]
    if own:
        raise CommandError(
            f"package {short(name, 80)!r} was left out of this catalog: {short(own[-1].message)}",
            "what is wrong is told above, and has to be repaired in the catalog",
        )
    where = "what can be read of this catalog" if faults else "this catalog"
    raise CommandError(f"there is no package {short(name, 80)!r} in {where}", _similar(catalog, name))


def _similar(catalog: Catalog, name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, [package.name for package in catalog.packages], n=1)
    return f"did you mean {close[0]}?" if close else "shiplift catalog list names the packages"


def channel(package: Package, name: str) -> Channel:
    found = package.channel(name or package.default_channel)
    if found:
        return found
    known = ", ".join(channel.name for channel in package.channels)
    if not name:
        raise CommandError(f"package {package.name} has no default channel", f"--channel, one of {known}")
    raise CommandError(
        f"package {package.name} has no channel {name!r} that can be followed", f"one of {known}"
    )


def installed(package: Package, name: str) -> Installed:
    from shiplift.operators.catalog.graph import installed

    found = installed(package, name)
    if found:
        return found
    hint = "a version as in 1.2.0, or a full name that the catalog has"
    raise CommandError(f"package {package.name} has no version {name!r}", hint)


def bundle(package: Package, name: str) -> Bundle:
    found = package.bundle(name)
    if found:
        return found
    hint = f"shiplift catalog list CATALOG {package.name} names the versions"
    raise CommandError(f"package {package.name} has no version {name!r}", hint)


def kubernetes(text: str) -> Kubernetes:
    from shiplift.operators.catalog.kubernetes import read

    found = read(text)
    if found is None:
        raise CommandError(f"{text!r} is not a Kubernetes version", "write it like 1.36 or v1.36.3")
    return found


def check_namespace(name: str) -> None:
    from shiplift.operators.catalog.names import is_label

    if not is_label(name):
        hint = "up to 63 lower-case letters, digits and -"
        raise CommandError(f"{name!r} is not the name of a namespace", hint)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def manifests(source: Path, imported: Imported, bundle: Bundle) -> list[dict[str, Any]]:
    """The manifests of a bundle, from wherever the source keeps them."""
    from shiplift.operators import sources
    from shiplift.operators.catalog.documents import UnreadableError

    if not bundle.payload:
        hint = "file-based catalogs mostly name an image only; import the folders of the bundles instead"
        raise CommandError(f"the catalog does not hold the manifests of {bundle.name}", hint)
    try:
        return sources.manifests(source, imported, bundle.payload)
    except UnreadableError as error:
        raise CommandError(f"the manifests of {bundle.name}: {error}", "import the catalog again") from error


def head(package: Package) -> Bundle:
    """What the default channel leads to."""
    from shiplift.operators.catalog.graph import ChannelGraph

    found = ChannelGraph(package, channel(package, "")).head
    if found:
        return found
    raise CommandError(f"the default channel of {package.name} has no head", "name a version")
