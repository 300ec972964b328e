"""The catalog loop: what runs is taken, hop by hop, to the newest version that the catalog leads to.

Kept true: one hop at a time, the next only when the last is through and its predecessor collected; nothing
beyond a pin, and nothing that somebody has vetoed or not approved.
"""

from __future__ import annotations

from typing import NamedTuple

from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.operators.catalog import semver
from shiplift.operators.catalog.graph import Installed
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.catalog.paths import Answer, Way, Why
from shiplift.operators.decide import app_type, choosing, lineage
from shiplift.operators.decide.choosing import Chosen
from shiplift.operators.model import AppView, Line, Reason, app_of, denies, version_of
from shiplift.operators.names import UPGRADEABLE


class Course(NamedTuple):
    """What is told of the way to the newest version."""

    line: Line
    latest: str = ""
    way: Way = ()
    blocked: tuple[str, ...] = ()


def followed(view: AppView, app: Custom) -> Course:
    """Whether what runs is the newest, and what is done to make it so."""
    installed = lineage.current(view.site)
    if not view.site.versions:
        return Course(Line(Reason.NOTHING_YET, "there is no version yet", Holds.UNKNOWN))
    if withdrawn := _withdrawn(view, app, installed):
        return Course(withdrawn)
    if installed is None:
        waits = f"{view.site.versions[-1].name} is being installed"
        return Course(Line(Reason.UPGRADING, waits, Holds.UNKNOWN))
    found = choosing.chosen(view, app)
    if isinstance(found, Line):
        return Course(found._replace(holds=Holds.UNKNOWN))
    return _onward(view, app, installed, found)


def _withdrawn(view: AppView, app: Custom, installed: Custom | None) -> Line | None:
    """A version that is not through goes where somebody pins the one that runs."""
    pin = (app_of(app).spec.version or "").removeprefix("v")
    if installed is None or not pin or version_of(installed).spec.version.removeprefix("v") != pin:
        return None
    later = [one for one in view.site.versions if not one.deleting and one.uid != installed.uid]
    unfinished = [one for one in later if version_of(one).spec.replaces == installed.name]
    if not unfinished:
        return None
    steps = tuple(app_type.deleted(one, f"{pin} is pinned") for one in unfinished)
    return Line(Reason.GOING_BACK, f"{unfinished[0].name} goes: {pin} is pinned", steps=steps)


def _onward(view: AppView, app: Custom, installed: Custom, found: Chosen) -> Course:
    spec = version_of(installed).spec
    pin = app_of(app).spec.version
    start = Installed(installed.name, semver.parse(spec.version.removeprefix("v")))
    said = choosing.way(view, found, start, pin)
    if said.why is Why.BACKWARDS and pin is not None:
        return _back(view, app, installed, found, pin)
    latest = said.way[-1].bundle.version if said.way else spec.version
    if not said.way:
        return Course(_at_the_end(said, pin), latest)
    line = _next(view, app, installed, found, said.way)
    blocked = () if line.steps or line.reason is Reason.UPGRADING else (line.message,)
    return Course(line, latest, said.way, blocked)


def _at_the_end(said: Answer, pin: str | None) -> Line:
    if said.why in (Why.THERE, Why.BACKWARDS):
        reason = Reason.PINNED if pin is not None else Reason.UP_TO_DATE
        return Line(reason, said.message, Holds.TRUE)
    reason = Reason.NO_VERSION if said.why is Why.NO_GOAL else Reason.NO_WAY
    return Line(reason, f"{said.message}; {said.hint}" if said.hint else said.message)


def _back(view: AppView, app: Custom, installed: Custom, found: Chosen, pin: str) -> Course:
    """To an older version, at once: that is what a pin below the installed version asks for."""
    goal = choosing.pinned(found, pin)
    if goal is None:
        return Course(Line(Reason.NO_VERSION, f"package {found.package.name} has no version {pin}"))
    if why := choosing.objection(view)(goal):
        return Course(Line(Reason.NOT_HERE, f"{goal.name}: {why}"))
    line = _made(view, app, installed, found, goal, (goal.version,))
    return Course(line._replace(reason=Reason.GOING_BACK) if line.steps else line)


def _next(view: AppView, app: Custom, installed: Custom, found: Chosen, way: Way) -> Line:
    hops = tuple(one.bundle.version for one in way)
    return _made(view, app, installed, found, way[0].bundle, hops)


def _made(
    view: AppView, app: Custom, installed: Custom, found: Chosen, bundle: Bundle, hops: tuple[str, ...]
) -> Line:
    if len(view.site.versions) > 1:
        return Line(Reason.UPGRADING, _under_way(view, installed))
    if why := app_type.waits(view, app):
        return why
    if (veto := denies(installed, UPGRADEABLE)) is not None:
        return Line(Reason.VETOED, f"{installed.name} must not be replaced now: {veto}")
    if bundle.name in view.taken:
        return app_type.name_taken(app, bundle)
    if why := app_type.unapproved(app, bundle.version, hops):
        return why
    step = app_type.made(view, app, found, bundle, replaces=installed.name)
    return Line(Reason.UPGRADING, f"{bundle.name} takes over from {installed.name}", steps=(step,))


def _under_way(view: AppView, installed: Custom) -> str:
    newest = lineage.newest(view.site)
    if newest is None or newest.uid == installed.uid:
        return f"what {installed.name} has replaced is being collected"
    return f"{newest.name} takes over from {installed.name}"
