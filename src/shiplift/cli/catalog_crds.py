"""`shiplift catalog crds`: what an upgrade would do to CustomResourceDefinitions and their objects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shiplift.cli import access
from shiplift.cli import catalog_reading as reading
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.api.operators import CrdFinding
    from shiplift.kube.client import Client
    from shiplift.operators.crds.definition import Definition
    from shiplift.operators.crds.existing import Checked

Json = dict[str, Any]


def crds(
    source: Annotated[Path, Parameter(help="A catalog whose bundles have their manifests.")],
    package: str,
    /,
    *,
    to: Annotated[str, Parameter(name="--to", help="The version that is to come.")],
    from_: Annotated[str, Parameter(name="--from", show_default=False)] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say what an upgrade would do to CustomResourceDefinitions. Exit 1: something is denied.

    With --from, two versions of the catalog are compared, and no cluster is asked. Without it, the cluster's
    definitions are compared with the new ones, and every object is checked against the new schema by the API
    server, dry run: for that a definition of another group is made and removed again.

    Parameters
    ----------
    package
        The package.
    from_
        The version that is installed.
    """
    imported = reading.load(source)
    found = reading.package(imported.catalog, package)
    coming = reading.bundle(found, to)
    new = _definitions(reading.manifests(source, imported, coming))
    if from_:
        going = reading.bundle(found, from_)
        old = _definitions(reading.manifests(source, imported, going))
        _tell_unpaired(old, new, going.version, coming.version)
        both = sorted(old.keys() & new.keys())
        _tell(_compared([(old[name], new[name]) for name in both]), len(both))
    else:
        with access.client_of(kubeconfig, context) as client:
            _tell(*_asked(client, new))


def _definitions(manifests: Iterable[Json]) -> dict[str, Json]:
    return {
        one["metadata"]["name"]: one for one in manifests if one.get("kind") == "CustomResourceDefinition"
    }


def _tell_unpaired(old: Iterable[str], new: Iterable[str], before: str, after: str) -> None:
    """Name the definitions that only one of the two versions has."""
    from shiplift.view.values import plain

    for name in sorted(set(new) - set(old)):
        say(f"{plain(name)} comes with {after}")
    for name in sorted(set(old) - set(new)):
        say(f"{plain(name)} is in {before} and not in {after}: it stays in the cluster as it is")


def _compared(pairs: Iterable[tuple[Json, Json]]) -> list[CrdFinding]:
    from shiplift.operators.crds.rules import findings, usual

    return [one for old, new in pairs for one in findings(_read(old), _read(new), usual())]


def _read(manifest: Json) -> Definition:
    from shiplift.operators.crds.definition import DefinitionError, read

    try:
        return read(manifest)
    except DefinitionError as error:
        raise CommandError(str(error), "the bundle has to be repaired by its author") from error


def _asked(client: Client, new: dict[str, Json]) -> tuple[list[CrdFinding], int]:
    """What the cluster's definitions and objects say to the new ones."""
    from shiplift.api.operators import CrdRule
    from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION
    from shiplift.kube.errors import NotFound
    from shiplift.operators.crds import existing
    from shiplift.operators.crds.rules import usual

    told: list[CrdFinding] = []
    compared = 0
    for name, definition in sorted(new.items()):
        try:
            live = client.get(CUSTOM_RESOURCE_DEFINITION, name)
        except NotFound:
            say(f"{name} is new to this cluster")
            continue
        compared += 1
        told += _compared([(live, definition)])
        checked = existing.check(client, definition)
        if checked:
            told += existing.findings(name, checked, usual()[CrdRule.EXISTING_OBJECTS])
            say(f"{name}: {_counts(checked)}")
    return told, compared


def _counts(checked: Checked) -> str:
    already = f", {checked.already:,} that are invalid already" if checked.already else ""
    objects = reading.counted(checked.objects, "object")
    return f"{objects} checked, {len(checked.refused):,} would be refused{already}"


def _tell(told: list[CrdFinding], compared: int) -> None:
    from shiplift.operators.crds.rules import denied

    if told:
        rows = [(one.crd, one.action.value, one.rule.value, one.path or "-", one.message) for one in told]
        reading.show(("DEFINITION", "ACTION", "RULE", "FIELD", "WHAT"), rows)
    summary = f"{reading.counted(compared, 'definition')} compared, {reading.counted(len(told), 'finding')}"
    if denied(told):
        raise CommandError(
            f"{summary}, of which some are denied: data would be lost or could not be read",
            "keep the version that is installed, or repair the objects that are named",
        )
    say(summary)
