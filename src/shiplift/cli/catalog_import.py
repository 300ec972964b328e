"""`shiplift catalog import`: a catalog is read once, and written where it is used from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shiplift.cli import catalog_reading as reading
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.operators.sources import Imported


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

    _check(output, name, namespace)
    imported = sources.gathered(source, reading.load(source))
    reading.tell_all(source, imported.catalog)
    if output:
        _write(imported, output)
    if name:
        _print_manifests(imported, name, namespace, output)
    say(f"{_summary(imported)}{f'; written to {output}' if output else ''}")


def _check(output: Path | None, name: str, namespace: str) -> None:
    from shiplift.operators.catalog.names import is_label

    if not output and not name:
        raise CommandError(
            "import needs --output FOLDER, --name NAME, or both", "shiplift catalog import --help"
        )
    if name and not is_label(name):
        raise CommandError(
            f"{name!r} is no name of a catalog", "lower-case letters, digits and -, as in community"
        )
    reading.check_namespace(namespace)


def _summary(imported: Imported) -> str:
    catalog = imported.catalog
    packages = reading.counted(len(catalog.packages), "package")
    versions = reading.counted(catalog.bundles, "version")
    left_out = f", {reading.counted(len(catalog.faults), 'fault')}" if catalog.faults else ""
    return f"{packages} with {versions}{left_out}"


def _write(imported: Imported, folder: Path) -> None:
    from shiplift.operators import sources

    try:
        sources.write(imported, folder)
    except OSError as error:
        raise CommandError(
            f"cannot write {folder}: {error.strerror}", "name a folder that you can write to"
        ) from error


def _print_manifests(imported: Imported, name: str, namespace: str, folder: Path | None) -> None:
    import yaml

    from shiplift.operators.catalog import index, manifests

    if folder:
        objects = [manifests.in_folder(name, str(folder.resolve()))]
    else:
        data = index.encode(imported.catalog)
        try:
            objects = list(manifests.in_config_maps(name, namespace, data, imported.payloads))
        except manifests.TooLargeError as error:
            raise CommandError(str(error), "--output FOLDER writes the catalog into a folder") from error
    sys.stdout.write(yaml.safe_dump_all(objects, explicit_start=True, sort_keys=False, width=110))
