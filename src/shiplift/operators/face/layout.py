"""From the read models to what a terminal shows. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from shiplift.face.layout import facts, table
from shiplift.face.wrapping import Sentence
from shiplift.operators.face.fleet import AppLine, FleetView
from shiplift.operators.face.standing import Standing, VersionLine

_STYLES = {"running": "green", "behind": "yellow", "paused": "yellow", "stalled": "red", "not seen": "dim"}


def fleet(view: FleetView, most: int | None, lines: int | None = None) -> RenderableType:
    shown = view.apps if most is None else view.apps[:most]
    running = sum(one.state in ("running", "behind") for one in view.apps)
    unread = [one.name for one in view.catalogs if not one.read]
    catalogs = "1 catalog" if len(view.catalogs) == 1 else f"{len(view.catalogs)} catalogs"
    told = f"{running} of {len(view.apps)} run, {catalogs}"
    told += f", of which {', '.join(unread)} cannot be read" if unread else ""
    parts: list[RenderableType] = [facts([("Operators", Sentence(told))]), Text(), _apps(shown, lines)]
    if len(shown) < len(view.apps):
        parts.append(Text(f"and {len(view.apps) - len(shown)} more", style="dim"))
    if view.hints:
        parts += [Text(), *(Sentence(f"hint: {hint}", style="dim") for hint in view.hints)]
    return Group(*parts)


def _apps(apps: Iterable[AppLine], lines: int | None) -> RenderableType:
    made = table("NAMESPACE", "APPTYPE", "INSTALLED", "LATEST", "STATE", "NOW", wraps=("NOW",))
    for one in apps:
        made.add_row(
            Text(one.namespace),
            Text(one.name),
            Text(one.installed or "-"),
            Text(one.latest or "-"),
            Text(one.state, style=_STYLES.get(one.state, "bold")),
            Sentence(one.message or "-", lines=lines),
        )
    return made


def standing(view: Standing) -> RenderableType:
    line = view.line
    told: list[tuple[str, RenderableType]] = [
        ("AppType", Sentence(f"{line.namespace}/{line.name}, {line.state}")),
        ("Package", Sentence(f"{line.package}" + (f" of catalog {view.catalog}" if view.catalog else ""))),
        ("Installed", Sentence(line.installed or "nothing yet")),
    ]
    if line.message:
        told.append(("Now", Sentence(line.message)))
    if view.path:
        told.append(("Path", Sentence(" → ".join([line.installed, *view.path]))))
    told += [("Blocked by", Sentence(one)) for one in view.blocked]
    told += [(about, Sentence(f"{reason}: {message}")) for about, reason, message in view.said]
    parts: list[RenderableType] = [facts(told)]
    for one in view.versions:
        parts += [Text(), facts(_version(one))]
    if view.helps:
        parts += [Text(), *(Sentence(f"hint: {hint}", style="dim") for hint in view.helps)]
    return Group(*parts)


def _version(one: VersionLine) -> Iterable[tuple[str, RenderableType]]:
    yield "Version", Sentence(f"{one.name}, {one.phase.lower()}")
    if one.message:
        yield "", Sentence(one.message)
    if one.deployments:
        yield "Deployments", Sentence(one.deployments)
    if one.adopted:
        yield "Taken over", Sentence(one.adopted)
    for label, texts in (("Missing", one.missing), ("Unsafe", one.findings), ("Left over", one.leftovers)):
        for text in texts:
            yield label, Sentence(text)
