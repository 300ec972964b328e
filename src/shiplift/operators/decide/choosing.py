"""Which version of which catalog an AppType means, and which come after it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from shiplift.api.operators import AppTypeSpec
from shiplift.facts.custom import Custom
from shiplift.operators.catalog import kubernetes, semver
from shiplift.operators.catalog.graph import ChannelGraph, Installed
from shiplift.operators.catalog.model import Bundle, Channel, Package
from shiplift.operators.catalog.paths import Answer, Why, answer
from shiplift.operators.model import AppView, Held, Line, Reason, app_of

Objection = Callable[[Bundle], str]


class Chosen(NamedTuple):
    """Where versions of an AppType come from."""

    held: Held
    package: Package
    channel: Channel


def chosen(view: AppView, app: Custom) -> Chosen | Line:
    """The first catalog in order that has the package, and the channel that is followed."""
    spec = app_of(app).spec
    for held in view.held:
        wanted = spec.catalog in (None, held.name) and not held.paused
        package = held.catalog.package(spec.package) if wanted else None
        if package is not None:
            return _followed(spec, held, package)
    return Line(Reason.NO_CATALOG, _nowhere(spec, view.held))


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
        Reason.NOT_HERE, f"no version of {where} can be installed here; {ordered[0].name}: {told(ordered[0])}"
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
    """From what is installed to the version that is pinned, or to the head."""
    goal = pinned(found, pin) if pin is not None else None
    if pin is not None and goal is None:
        return Answer(Why.NO_GOAL, f"package {found.package.name} has no version {pin}")
    return answer(found.package, found.channel.name, installed, goal, objection(view))
