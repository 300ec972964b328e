"""All operators at one moment, from AppTypes and catalogs: what runs, what could, what keeps it.

Every text that others wrote is one line of printable characters here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.api.operators import AppType, OperatorCatalog
from shiplift.api.values import Condition, ConditionStatus
from shiplift.operators.model import About
from shiplift.view.section import Arrival
from shiplift.view.values import Heard, plain

RUN_ONE = "`shiplift operator` runs one"


class AppLine(msgspec.Struct, frozen=True):
    """One operator."""

    namespace: str
    name: str
    package: str
    installed: str
    latest: str
    state: str
    """One word."""
    message: str
    stalled: bool = False


class CatalogLine(msgspec.Struct, frozen=True):
    """One catalog."""

    name: str
    packages: int
    read: bool
    message: str


class FleetView(msgspec.Struct, frozen=True):
    """All of them."""

    apps: tuple[AppLine, ...]
    catalogs: tuple[CatalogLine, ...]
    arrival: Arrival
    stalled: str
    hints: tuple[str, ...] = ()


def fleet_view(
    apps: Sequence[AppType], catalogs: Sequence[OperatorCatalog], now: int, heard: Heard | None
) -> FleetView | None:
    """What there is to tell; None without an AppType."""
    if not apps:
        return None
    lines = sorted((app_line(one) for one in apps), key=lambda one: (one.namespace, one.name))
    stuck = [one for one in lines if one.stalled]
    return FleetView(
        apps=tuple(lines),
        catalogs=tuple(sorted((_catalog_line(one) for one in catalogs), key=lambda one: one.name)),
        arrival=Arrival.NOT_YET if any(one.state not in _AT_REST for one in lines) else Arrival.MOVED,
        stalled=f"{stuck[0].namespace}/{stuck[0].name}: {stuck[0].message}" if stuck else "",
        hints=tuple(_hints(apps, now, heard)),
    )


_AT_REST = ("running", "behind", "paused")


def said(conditions: Iterable[Condition], about: str) -> Condition | None:
    return next((one for one in conditions if one.type == about), None)


def app_line(one: AppType) -> AppLine:
    status, about = one.status, one.metadata
    stalled = said(status.conditions, "Stalled")
    stuck = stalled is not None and stalled.status is ConditionStatus.TRUE
    return AppLine(
        namespace=about.namespace,
        name=about.name,
        package=one.spec.package,
        installed=plain(status.installed),
        latest=plain(status.latest),
        state=state(one),
        message=plain(status.message),
        stalled=stuck,
    )


def state(one: AppType) -> str:
    """One word for where it is; what nobody has seen yet is said as well."""
    status = one.status
    ready, current = said(status.conditions, "Ready"), said(status.conditions, About.UP_TO_DATE)
    if one.metadata.deletion_timestamp is not None:
        return "uninstalling"
    if ready is None or status.observed_generation < one.metadata.generation:
        return "not seen"
    if one.spec.paused:
        return "paused"
    if ready.status is ConditionStatus.TRUE:
        behind = current is not None and current.status is ConditionStatus.FALSE
        return "behind" if behind else "running"
    return "stalled" if said(status.conditions, "Stalled") else "installing"


def _catalog_line(one: OperatorCatalog) -> CatalogLine:
    ready = said(one.status.conditions, "Ready")
    read = ready is not None and ready.status is ConditionStatus.TRUE
    return CatalogLine(one.metadata.name, one.status.packages, read, plain(one.status.message))


def _hints(apps: Sequence[AppType], now: int, heard: Heard | None) -> Iterable[str]:
    if heard is not None and heard.silent(now) is not None:
        yield f"nothing happens until an operator runs again; {RUN_ONE} from here"
    elif not any(one.status.observed_generation for one in apps):
        yield f"no operator with the layer operators has looked at them yet; {RUN_ONE}"


def changes(before: FleetView | None, now: FleetView) -> list[str]:
    """A line for each operator of which there is something new to tell."""
    then = {(one.namespace, one.name): one for one in before.apps} if before is not None else {}
    new = [one for one in now.apps if then.get((one.namespace, one.name)) != one]
    return [f"{one.namespace}/{one.name}: {one.state}, {one.message or one.installed}" for one in new]


def fleet_data(view: FleetView) -> dict[str, object]:
    """As programs read it: a shape that only grows."""
    return {
        "arrival": view.arrival.name.title().replace("_", ""),
        "stalled": view.stalled,
        "appTypes": [msgspec.to_builtins(one) for one in view.apps],
        "catalogs": [msgspec.to_builtins(one) for one in view.catalogs],
        "hints": list(view.hints),
    }
