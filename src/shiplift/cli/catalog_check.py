"""`shiplift catalog check`: which operators keep a cluster from a version of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter

from shiplift.cli import access
from shiplift.cli import catalog_reading as reading
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.kube.client import Client
    from shiplift.operators.catalog.kubernetes import Kubernetes
    from shiplift.operators.catalog.model import Bundle, Catalog, Package


class Operator(NamedTuple):
    """A version that is looked at, its package if the catalog has it, and where it runs if that is known."""

    bundle: Bundle
    package: Package | None
    namespace: str = "-"
    unreadable: str = ""
    """Why nothing is known of it; unknown is not fine."""


def check(
    source: reading.Source,
    /,
    *,
    kubernetes: Annotated[str, Parameter(help="The version of Kubernetes, such as 1.36.")],
    installed: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    cluster: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say which operators block a version of Kubernetes. Exit 1: some do.

    Looked at: the oldest and the newest version of Kubernetes that an operator says it runs on, and kinds in
    its manifests that this version of Kubernetes does not serve.

    Parameters
    ----------
    installed
        What is installed, as PACKAGE@VERSION; may be given several times. Without: the head of every package.
    cluster
        What OLM has installed in the cluster, instead.
    """
    if cluster and installed:
        raise CommandError("--cluster and --installed exclude each other", "leave one of them out")
    version = reading.kubernetes(kubernetes)
    catalog = reading.load(source).catalog
    if cluster:
        with access.client_of(kubeconfig, context) as client:
            operators = _running(client, catalog)
    else:
        operators = [_named(catalog, one) for one in installed] if installed else list(_heads(catalog))
    _judge(operators, version)


def _judge(operators: list[Operator], version: Kubernetes) -> None:
    blocked = [(one, why) for one in operators for why in _objections(one, version)]
    count = reading.counted(len(operators), "operator")
    if not blocked:
        say(f"nothing that is known of {count} speaks against Kubernetes {version}")
        return
    rows = [_row(one, why, version) for one, why in blocked]
    reading.show(("NAMESPACE", "PACKAGE", "VERSION", "WHY", "WAY OUT"), rows)
    names = {(one.namespace, one.bundle.name) for one, _ in blocked}
    raise CommandError(
        f"{len(names)} of {count} cannot run on Kubernetes {version}",
        "upgrade them to a version that can, before the cluster",
    )


def _objections(one: Operator, version: Kubernetes) -> tuple[str, ...]:
    from shiplift.operators.catalog.kubernetes import objections

    return (f"cannot be read: {one.unreadable}",) if one.unreadable else objections(one.bundle, version)


def _row(one: Operator, why: str, version: Kubernetes) -> tuple[str, ...]:
    name = one.package.name if one.package else one.bundle.name
    way_out = _way_out(one.package, one.bundle, version) if one.package else "not in this catalog"
    return (one.namespace, name, one.bundle.version, why, way_out)


def _running(client: Client, catalog: Catalog) -> list[Operator]:
    """What OLM runs; the catalog says more about a version than OLM does, where it has it."""
    from shiplift.kube.errors import NotFound
    from shiplift.operators import olm

    known = {bundle.name: (bundle, package) for package in catalog.packages for bundle in package.bundles}
    try:
        found = olm.installed(client)
    except NotFound as error:
        hint = "--installed PACKAGE@VERSION names operators that were installed otherwise"
        raise CommandError(
            "this cluster has no ClusterServiceVersions: OLM is not installed", hint
        ) from error
    return [
        Operator(*known.get(one.bundle.name, (one.bundle, None)), one.namespace, one.unreadable)
        for one in found
    ]


def _way_out(package: Package, bundle: Bundle, version: Kubernetes) -> str:
    """The lowest version that can be reached and runs there."""
    from shiplift.operators.catalog.graph import ChannelGraph
    from shiplift.operators.catalog.kubernetes import objections
    from shiplift.operators.catalog.paths import reachable

    start = reading.installed(package, bundle.name)
    reached = [
        one for channel in package.channels for one in reachable(ChannelGraph(package, channel), start)
    ]
    fit = [one for one in reached if not objections(one.bundle, version)]
    return f"upgrade to {min(fit, key=lambda one: one.version).bundle.version}" if fit else "-"


def _named(catalog: Catalog, text: str) -> Operator:
    name, at, version = text.partition("@")
    if not at:
        raise CommandError(f"{text!r} names no version", "write it as PACKAGE@VERSION")
    package = reading.package(catalog, name)
    return Operator(reading.bundle(package, version), package)


def _heads(catalog: Catalog) -> Iterable[Operator]:
    from shiplift.operators.catalog.graph import ChannelGraph

    for package in catalog.packages:
        channel = package.channel(package.default_channel) or package.channels[0]
        head = ChannelGraph(package, channel).head
        if head:
            yield Operator(head, package)
