"""Which version of which catalog an AppType means, and which come after it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

import msgspec

from shiplift.api.operators import AppTypeSpec
from shiplift.facts.custom import Custom
from shiplift.operators.catalog import kubernetes, semver
from shiplift.operators.catalog.graph import ChannelGraph, Installed
from shiplift.operators.catalog.model import Bundle, Channel, Package
from shiplift.operators.catalog.paths import Answer, Way, Why, answer, graph_of, reachable, shortest
from shiplift.operators.model import AppView, Held, Line, Reason
from shiplift.operators.rows import app_of, catalog_of

Objection = Callable[[Bundle], str]


SERVERS_CHANGE = timedelta(minutes=5)
"""What keeps a version from running here may be the version of Kubernetes: nobody tells when that changes."""


class Chosen(NamedTuple):
    """Where versions of an AppType come from."""

    held: Held
    package: Package
    channel: Channel


def chosen(view: AppView, app: Custom) -> Chosen | Line:
    """The first catalog in order that has the package, and the channel that is followed."""
    spec = app_of(app).spec
    if unread := _unread(view, app):
        return unread
    for held in view.held:
        wanted = spec.catalog in (None, held.name) and not held.paused
        package = held.catalog.package(spec.package) if wanted else None
        if package is not None:
            return _followed(spec, held, package)
    return Line(Reason.NO_CATALOG, _nowhere(spec, view.held))


def _unread(view: AppView, app: Custom) -> Line | None:
    """The catalog that it came from decides what follows, also while that cannot be read: a package of the
    same name elsewhere may be somebody else's."""
    name = app_of(app).status.catalog
    there = any(one.name == name and not catalog_of(one).spec.paused for one in view.catalogs)
    if app_of(app).spec.catalog is not None or not there or any(one.name == name for one in view.held):
        return None
    told = f"OperatorCatalog {name}, which it came from, cannot be read"
    return Line(Reason.UNREADABLE, f"{told}; spec.catalog of the AppType can name another")


def _nowhere(spec: AppTypeSpec, held: tuple[Held, ...]) -> str:
    if spec.catalog is not None:
        named = next((one for one in held if one.name == spec.catalog), None)
        if named is None:
            return f"OperatorCatalog {spec.catalog} is not there, or was not read yet"
        why = "is paused" if named.paused else f"does not have package {spec.package}"
        return f"OperatorCatalog {spec.catalog} {why}"
    names = ", ".join(one.name for one in held if not one.paused)
    read = f"of {names}" if names else "was read yet, or there is none"
    return f"no catalog {read}" + (f" has package {spec.package}" if names else "")


def _followed(spec: AppTypeSpec, held: Held, package: Package) -> Chosen | Line:
    name = spec.channel or package.default_channel
    channel = package.channel(name)
    if channel is not None:
        return Chosen(held, package, channel)
    known = ", ".join(one.name for one in package.channels)
    asked = f"has no channel {name!r}" if name else "has no default channel"
    return Line(
        Reason.NO_CHANNEL, f"package {package.name} of catalog {held.name} {asked}: choose of {known}"
    )


def objection(view: AppView) -> Objection:
    """Why a version cannot be installed here; empty where it can."""
    here = kubernetes.read(view.kubernetes)

    def told(bundle: Bundle) -> str:
        if bundle.uninstallable:
            return f"brings {' and '.join(bundle.uninstallable)}, which cannot be installed"
        if not bundle.payload:
            return "the catalog does not hold its manifests"
        found = kubernetes.objections(bundle, here) if here is not None else ()
        return "; ".join(found)

    return told


def first(view: AppView, app: Custom, found: Chosen) -> Bundle | Line:
    """What is installed where nothing is: the version that is pinned, or the newest that can be."""
    pin = app_of(app).spec.version
    told = objection(view)
    if pin is not None:
        return _pinned(found, pin, told)
    head = ChannelGraph(found.package, found.channel).head
    bundles = _highest_first(found)
    ordered = ([head] if head is not None else []) + bundles
    fitting = next((one for one in ordered if not told(one)), None)
    if fitting is not None:
        return fitting
    where = f"channel {found.channel.name} of {found.package.name}"
    if not ordered:
        return Line(Reason.NO_VERSION, f"{where} has no version")
    return Line(
        Reason.NOT_HERE,
        f"no version of {where} can be installed here; {ordered[0].name}: {told(ordered[0])}",
        due=SERVERS_CHANGE,
    )


def _pinned(found: Chosen, pin: str, told: Objection) -> Bundle | Line:
    bundle = pinned(found, pin)
    if bundle is None:
        return Line(
            Reason.NO_VERSION, f"package {found.package.name} of {found.held.name} has no version {pin}"
        )
    why = told(bundle)
    return Line(Reason.NOT_HERE, f"{bundle.name}: {why}") if why else bundle


def pinned(found: Chosen, pin: str) -> Bundle | None:
    return found.package.bundle(pin.removeprefix("v"))


def _highest_first(found: Chosen) -> list[Bundle]:
    names = {one.name for one in found.channel.entries}
    bundles = [one for one in found.package.bundles if one.name in names]
    return sorted(bundles, key=lambda one: (semver.parse(one.version), one.name), reverse=True)


def way(view: AppView, found: Chosen, installed: Installed, pin: str | None) -> Answer:
    """From what is installed to the version that is pinned, or to the head; where no way leads to the head,
    why not, and the way to the highest version that one leads to."""
    goal = pinned(found, pin) if pin is not None else None
    if pin is not None and goal is None:
        return Answer(Why.NO_GOAL, f"package {found.package.name} has no version {pin}")
    told = objection(view)
    said = answer(found.package, found.channel.name, installed, goal, told)
    if pin is None and said.why in (Why.REFUSED, Why.DEAD_END):
        return msgspec.structs.replace(said, way=_as_far_as_possible(found, installed, told))
    return said


def _as_far_as_possible(found: Chosen, installed: Installed, told: Objection) -> Way:
    """To the highest version that can run here, where the head cannot, or no way leads to it."""
    graph = graph_of(found.package, found.channel.name)
    for one in reachable(graph, installed):
        if one.version > installed.version and (way := shortest(graph, installed, one.bundle.name, told)):
            return way
    return ()
