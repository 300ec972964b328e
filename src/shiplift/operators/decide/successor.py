"""The catalog loop: what runs is taken, hop by hop, to the newest version that the catalog leads to.

Kept true: one hop at a time, the next only when the last is through and its predecessor collected; nothing
beyond a pin, and nothing that somebody has vetoed or not approved.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.operators.catalog import semver
from shiplift.operators.catalog.graph import Installed
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.catalog.paths import Answer, Way, Why
from shiplift.operators.decide import app_type, choosing, lineage
from shiplift.operators.decide.choosing import Chosen
from shiplift.operators.model import About, AppView, Line, Reason
from shiplift.operators.names import UPGRADEABLE
from shiplift.operators.rows import app_of, denies, has_run, is_paused, is_untouched, stuck, version_of


class Course(NamedTuple):
    """What is told of the way to the newest version."""

    line: Line
    latest: str = ""
    way: Way = ()
    blocked: tuple[str, ...] = ()


_TIME_TO_RUN = timedelta(minutes=10)
"""As long as a Deployment has to come up where its manifest does not say."""


def followed(view: AppView, app: Custom, now: datetime) -> Course:
    """Whether what runs is the newest, and what is done to make it so."""
    installed = lineage.current(view.site)
    if not view.site.versions:
        return Course(Line(Reason.NOTHING_YET, "there is no version yet", Holds.UNKNOWN))
    if back := _withdrawn(view, app, installed) or _taken_out(view, app, installed):
        return Course(back)
    found = choosing.chosen(view, app)
    if installed is None:
        led_out = None if isinstance(found, Line) else _out_of(view, app, found, now)
        return led_out or Course(_installing(view.site.versions[-1], now))
    if isinstance(found, Line):
        return Course(found._replace(holds=Holds.UNKNOWN))
    return _onward(view, app, installed, found)


def _installing(one: Custom, now: datetime) -> Line:
    left = _has_to_run(one) - now
    due = left if left > timedelta(0) else None
    return Line(Reason.UPGRADING, f"{one.name} is being installed", Holds.UNKNOWN, due=due)


def _out_of(view: AppView, app: Custom, found: Chosen, now: datetime) -> Course | None:
    """From the only version, which does not run: another may be what mends it. None where there is no other,
    or the only one has not had its time."""
    (*others, only) = view.site.versions
    if others or only.deleting or not _may_be_left(app, only, now):
        return None
    course = _onward(view, app, only, found)
    return course if course.line.steps or course.way else None


def _may_be_left(app: Custom, only: Custom, now: datetime) -> bool:
    """It ran once, somebody pins another, or it has not come to run for as long as it may take."""
    pin = (app_of(app).spec.version or "").removeprefix("v")
    other = bool(pin) and pin != version_of(only).spec.version.removeprefix("v")
    return has_run(only) or other or _has_to_run(only) <= now


def _has_to_run(one: Custom) -> datetime:
    """Since it is told not to run, or since it was made."""
    told = (said for said in version_of(one).status.conditions if said.type == About.INSTALLED)
    since = next((said.last_transition_time for said in told), datetime.fromtimestamp(one.created, UTC))
    return since + _TIME_TO_RUN


def _withdrawn(view: AppView, app: Custom, installed: Custom | None) -> Line | None:
    """A version that is not through goes where somebody wants the one before it after all, or one that it
    does not lead to; whether the one before it runs, or neither does."""
    pin = (app_of(app).spec.version or "").removeprefix("v")
    before = installed or _left_behind(view)
    if before is None or is_paused(app):
        return None
    later = [one for one in view.site.versions if not one.deleting and one.uid != before.uid]
    following = [one for one in later if version_of(one).spec.replaces == before.name]
    unwanted = [one for one in following if _is_unwanted(one, before, pin)]
    if not unwanted:
        return None
    why = f"{pin} is pinned" if pin else "nothing is pinned any more"
    return _goes(unwanted, why)


def _goes(unwanted: list[Custom], why: str) -> Line:
    steps = tuple(app_type.deleted(one, why) for one in unwanted)
    return Line(Reason.GOING_BACK, f"{unwanted[0].name} goes: {why}", steps=steps)


def _taken_out(view: AppView, app: Custom, installed: Custom | None) -> Line | None:
    """A version that never ran, and of which no catalog has the manifests any more, gives way to the one
    before it, of which one does: that may have been stopped for it."""
    before = installed or _left_behind(view)
    newest = lineage.newest(view.site)
    if before is None or newest is None or is_paused(app) or version_of(newest).spec.replaces != before.name:
        return None
    lost = not has_run(newest) and _lacks_manifests(newest) and not _is_offered(view, newest)
    if not lost or not _is_known(view, app) or not _is_offered(view, before):
        return None
    return _goes([newest], f"no catalog has it any more; {before.name} runs again")


def _lacks_manifests(one: Custom) -> bool:
    said = (each for each in version_of(one).status.conditions if each.type == About.INSTALLED)
    return any(each.reason == Reason.NO_PAYLOAD for each in said)


def _is_offered(view: AppView, one: Custom) -> bool:
    spec = version_of(one).spec
    packages = (held.catalog.package(spec.package) for held in view.held)
    return any(each.payload == spec.bundle for found in packages if found for each in found.bundles)


def _is_known(view: AppView, app: Custom) -> bool:
    """Whether what it came from was read: otherwise nobody knows what is offered."""
    known = {held.name for held in view.held}
    came_from = app_of(app).status.catalog
    return came_from in known or (came_from is None and all(one.name in known for one in view.catalogs))


def _is_unwanted(one: Custom, before: Custom, pin: str) -> bool:
    try:
        wanted = semver.parse(pin) if pin else None
        if _number(one) < _number(before):
            return wanted is None or wanted.rank != _number(one).rank
        return wanted is not None and wanted <= _number(before)
    except semver.SemverError:
        return False


def _left_behind(view: AppView) -> Custom | None:
    """The version that the newest takes over from."""
    newest = lineage.newest(view.site)
    name = version_of(newest).spec.replaces if newest is not None else None
    staying = (one for one in view.site.versions if not one.deleting)
    return next((one for one in staying if one.name == name), None)


def _number(one: Custom) -> semver.Version:
    return semver.parse(version_of(one).spec.version.removeprefix("v"))


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
    beyond = () if said.why is Why.WAY else (said.message,)
    return Course(line, latest, said.way, (*blocked, *beyond))


def _at_the_end(said: Answer, pin: str | None) -> Line:
    if said.why in (Why.THERE, Why.BACKWARDS):
        reason = Reason.PINNED if pin is not None else Reason.UP_TO_DATE
        return Line(reason, said.message, Holds.TRUE)
    reason = Reason.NO_VERSION if said.why is Why.NO_GOAL else Reason.NO_WAY
    told = f"{said.message}; {said.hint}" if said.hint else said.message
    return Line(reason, told, due=choosing.SERVERS_CHANGE)


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
        return _under_way(view, installed)
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


def _under_way(view: AppView, installed: Custom) -> Line:
    newest = lineage.newest(view.site)
    if newest is None or newest.uid == installed.uid:
        told = f"what {installed.name} has replaced is being collected"
        others = (stuck(one, About.COLLECTED) for one in view.site.versions if one.uid != installed.uid)
        return _held(told, next((one for one in others if one is not None), None))
    told = f"{newest.name} takes over from {installed.name}"
    return _held(told, stuck(newest, About.INSTALLED) if is_untouched(newest) else None)


def _held(told: str, why: tuple[Reason, str] | None) -> Line:
    return Line(Reason.UPGRADING, told) if why is None else Line(why[0], f"{told}: {why[1]}")
