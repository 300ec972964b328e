"""`shiplift catalog manifests`: what installing a version of an operator would put into a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shiplift.cli import catalog_reading as reading
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.operators.catalog.installation import Json


def manifests(
    source: reading.Source,
    package: str,
    version: str = "",
    /,
    *,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"])],
    all_namespaces: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> None:
    """Print what a version of an operator consists of: definitions, accounts, rights, Deployments.

    For reading before it is installed, and for `kubectl create --validate=warn -f -`.

    Parameters
    ----------
    package
        The package.
    version
        The version; without one, the head of the default channel.
    namespace
        Where the operator is to run; it watches this namespace, if it can do with that.
    all_namespaces
        The operator watches all namespaces: what it may do in one, it may do in each.
    """
    import yaml

    reading.check_namespace(namespace)
    found = _objects(source, package, version, namespace, everywhere=all_namespaces)
    sys.stdout.write(yaml.safe_dump_all(found, explicit_start=True, sort_keys=False, width=110))
    sys.stdout.flush()
    say(f"{reading.counted(len(found), 'object')}; {_rights(found)}")


def _objects(source: Path, package: str, version: str, namespace: str, *, everywhere: bool) -> list[Json]:
    from shiplift.operators.catalog.installation import NotInstallableError, Watches, objects

    imported = reading.load(source)
    found = reading.package(imported.catalog, package)
    bundle = reading.bundle(found, version) if version else reading.head(found)
    given = reading.manifests(source, imported, bundle)
    try:
        return objects(bundle, given, namespace, Watches.ALL if everywhere else None)
    except NotInstallableError as error:
        hint = f"another version may do: shiplift catalog list CATALOG {package} names them"
        raise CommandError(str(error), hint) from error


def _rights(found: list[Json]) -> str:
    """What deserves a look: what its accounts may do everywhere."""
    rules = [rule for one in found if one["kind"] == "ClusterRole" for rule in one.get("rules") or ()]
    if not rules:
        return "its accounts may do nothing outside of the namespace"
    all_of_it = sum(
        "*" in (rule.get("verbs") or ()) and "*" in (rule.get("resources") or ()) for rule in rules
    )
    told = f", of which {all_of_it} allow everything in an API group" if all_of_it else ""
    return f"its accounts have {reading.counted(len(rules), 'rule')} that hold in all namespaces{told}"
