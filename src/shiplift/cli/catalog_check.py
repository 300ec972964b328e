"""`shiplift catalog check`: which operators keep a cluster from a version of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    from shiplift.operators.olm import Running


_UPGRADE = "upgrade them to a version that can, before the cluster"
_NEWER = "what needs a newer Kubernetes comes after the cluster's upgrade to that, or in an older version"
_REPAIR = "repair what is told above in the catalog, or name what is installed: --installed PACKAGE@VERSION"


class Operator(NamedTuple):
    """A version that is looked at, its package if the catalog has it, and where it runs if that is known."""

    bundle: Bundle
    package: Package | None
    namespace: str = "-"
    unreadable: str = ""
    """Why what runs cannot be read; unknown is not fine."""
    unjudged: str = ""
    """Why the catalog does not say which version would be judged; unknown is not fine."""


class Obstacle(NamedTuple):
    """What keeps an operator from a version of Kubernetes, and what would help."""

    operator: Operator
    why: str
    way_out: str
    helps: str
    """For the hint."""
    known: bool = True
    """Or else that nothing is known is the obstacle."""


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
    """Say which operators block a version of Kubernetes. Exit 1: some do, or are not known.

    Looked at: the oldest and the newest version of Kubernetes that an operator says it runs on, and kinds in
    its manifests that this version of Kubernetes does not serve.

    Parameters
    ----------
    installed
        What is installed, as PACKAGE@VERSION; may be given several times. Without: the head of every package.
    cluster
        What OLM and shiplift have installed in the cluster, instead.
    """
    if cluster and installed:
        raise CommandError("--cluster and --installed exclude each other", "leave one of them out")
    version = reading.kubernetes(kubernetes)
    catalog = reading.load(source).catalog
    if installed:
        _judge(_named(catalog, installed), version)
        return
    reading.tell_all(source, catalog)
    if cluster:
        with access.client_of(kubeconfig, context) as client:
            _judge(_running(client, catalog), version)
    else:
        _judge([*_heads(catalog), *_left_out(catalog)], version, all_known=not _anything_unread(catalog))


def _judge(operators: list[Operator], version: Kubernetes, *, all_known: bool = True) -> None:
    obstacles = [found for one in operators for found in _obstacles(one, version)]
    count = reading.counted(len(operators), "operator")
    if obstacles:
        rows = [_row(one) for one in obstacles]
        reading.show(("NAMESPACE", "PACKAGE", "VERSION", "WHY", "WAY OUT"), rows)
        hint = "; ".join(dict.fromkeys(one.helps for one in obstacles))
        raise CommandError(_summary(obstacles, count, version), hint)
    fine = f"nothing that is known of {count} speaks against Kubernetes {version}"
    if not all_known:
        raise CommandError(f"{fine}, but more may be in what cannot be read", _REPAIR)
    say(fine)


def _obstacles(one: Operator, version: Kubernetes) -> Iterator[Obstacle]:
    from shiplift.operators.catalog.kubernetes import needs_newer, objections

    if one.unjudged:
        yield Obstacle(one, f"not known: {one.unjudged}", "repair the catalog", _REPAIR, known=False)
    against = (f"cannot be read: {one.unreadable}",) if one.unreadable else objections(one.bundle, version)
    for why in against:
        way_out = _way_out(one.package, one.bundle, version) if one.package else "not in this catalog"
        helps = _NEWER if needs_newer(one.bundle, version) else _UPGRADE
        yield Obstacle(one, why, way_out, helps, known=not one.unreadable)


def _row(obstacle: Obstacle) -> tuple[str, ...]:
    one = obstacle.operator
    name = one.package.name if one.package else one.bundle.name
    return (one.namespace, name, one.bundle.version, obstacle.why, obstacle.way_out)


def _summary(obstacles: list[Obstacle], count: str, version: Kubernetes) -> str:
    stopped = {(one.operator.namespace, one.operator.bundle.name) for one in obstacles}
    cannot = [f"cannot run on Kubernetes {version}"] if any(one.known for one in obstacles) else []
    cannot += [] if all(one.known for one in obstacles) else ["cannot be judged"]
    return f"{len(stopped)} of {count} {' or '.join(cannot)}"


def _running(client: Client, catalog: Catalog) -> list[Operator]:
    """What OLM and we ourselves run; the catalog says more about a version than they do, where it has it."""
    from shiplift.operators import olm, running

    known = {bundle.name: (bundle, package) for package in catalog.packages for bundle in package.bundles}
    olms, ours = (_found(client, look) for look in (olm.installed, running.installed))
    if olms is None and ours is None:
        hint = "--installed PACKAGE@VERSION names operators that were installed otherwise"
        raise CommandError(
            "this cluster has neither ClusterServiceVersions of OLM nor OperatorVersions of ours", hint
        )
    found = [*(olms or ()), *(ours or ())]
    return [
        Operator(*known.get(one.bundle.name, (one.bundle, None)), one.namespace, one.unreadable)
        for one in found
    ]


def _found(client: Client, look: Callable[[Client], list[Running]]) -> list[Running] | None:
    """None where the cluster does not know the kind."""
    from shiplift.kube.errors import NotFound

    try:
        return look(client)
    except NotFound:
        return None


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


def _named(catalog: Catalog, installed: Iterable[str]) -> list[Operator]:
    named = [_split(text) for text in installed]
    reading.tell_faults(catalog.faults_about(*(name for name, _ in named)))
    packages = {name: reading.find(catalog, name) for name, _ in named}
    return [Operator(reading.bundle(packages[name], version), packages[name]) for name, version in named]


def _split(text: str) -> tuple[str, str]:
    name, at, version = text.partition("@")
    if not at:
        raise CommandError(f"{text!r} names no version", "write it as PACKAGE@VERSION")
    return name, version


def _heads(catalog: Catalog) -> Iterator[Operator]:
    """The head of every package, or why it is not known."""
    from shiplift.operators.catalog.graph import ChannelGraph

    lacking = {fault.package for fault in catalog.faults if fault.leaves_versions_out}
    for package in catalog.packages:
        channel = package.channel(package.default_channel)
        head = ChannelGraph(package, channel).head if channel else None
        if head is None:
            why = "its default channel has no head" if channel else _NO_DEFAULT
            yield _unjudged(package.name, why)
        else:
            yield Operator(head, package, unjudged=_LACKING if package.name in lacking else "")


def _left_out(catalog: Catalog) -> Iterator[Operator]:
    """Packages of which a fault has left nothing."""
    why = {fault.package: fault.message for fault in catalog.faults}
    known = {package.name for package in catalog.packages}
    for name in sorted(why.keys() - known - {""}):
        yield _unjudged(name, f"left out, for {why[name]}")


_NO_DEFAULT = "it has no default channel that could be followed"
_LACKING = "versions of it were left out, so its head may be another"


def _unjudged(name: str, why: str) -> Operator:
    from shiplift.operators.catalog.model import Bundle

    bundle = Bundle(name=reading.short(name, 80), version="-")
    return Operator(bundle, None, unjudged=reading.short(why))


def _anything_unread(catalog: Catalog) -> bool:
    """Whether packages may be missing that nobody can name."""
    return any(not fault.package and fault.leaves_versions_out for fault in catalog.faults)
