"""From a view to what is done: each kind of view has its own loop. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from shiplift.engine import contested, retries
from shiplift.engine.conditions import Status as Holds
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.denials import is_denial
from shiplift.engine.step import Outcomes
from shiplift.facts.custom import Custom
from shiplift.operators.decide import (
    app_type,
    choosing,
    collect,
    crd,
    install,
    requirement,
    source,
    successor,
    taking_over,
)
from shiplift.operators.model import (
    AppView,
    CrdView,
    Decided,
    InstallView,
    Key,
    Line,
    Loop,
    OwnedView,
    Reason,
    RequirementView,
    Site,
    SourceView,
    Told,
    UsherView,
    View,
)
from shiplift.operators.rows import app_of
from shiplift.operators.tell import report

_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""


def decide(view: View, now: datetime, loop: str) -> Decided:
    """What to do now."""
    decided = _decided(view, now, loop)
    outcomes: Outcomes = getattr(view, "outcomes", Outcomes())
    changes: contested.Changes = getattr(view, "changes", {})
    return retries.only_due(
        decided, lambda step: max(retries.wait(outcomes, step, now), contested.wait(changes, step, now))
    )


def _decided(view: View, now: datetime, loop: str) -> Decided:
    site: Site | None = getattr(view, "site", None)
    if site is not None and site.stale:
        return Decided(look_again=requeue(_SOON))
    match view:
        case AppView():
            return _app_type(view, now) if loop == Loop.APP_TYPE else _successor(view, now)
        case OwnedView():
            return _upgrade(view, now) if loop == Loop.UPGRADE else _collect(view, now)
        case InstallView():
            return _install(view, now)
        case RequirementView():
            return _requirement(view, now)
        case _:
            return _of_the_cluster(view, now)


def _of_the_cluster(view: View, now: datetime) -> Decided:
    """What is about no AppType."""
    match view:
        case UsherView():
            return Decided(wake=view.keys)
        case SourceView():
            line = source.read(view, now)
            lost = bool(view.reading.failures) or source.is_late(view.reading, now)
            never = lost and view.reading.catalog is None
            wake = (Key(Loop.USHER),) if view.reading.news or never else ()
            told = (report.source_told(view, now, line),)
            return Decided(line.steps, _look_again(line), told=told, wake=wake, news=view.reading.news)
        case CrdView():
            steps = tuple(step for step in (crd.owned(view),) if step is not None)
            failed = any(retries.failures(view.outcomes, steps))
            return Decided(steps, wake=crd.waiting(view) if failed else ())
        case _:
            return Decided()


def _of(line: Line, told: tuple[Told, ...] = ()) -> Decided:
    return Decided(line.steps, _look_again(line), told=told)


def _look_again(line: Line) -> LookAgain:
    return earliest(*([requeue(line.due)] if line.due is not None else []), await_change())


def _said(line: Line, view: AppView | InstallView | OwnedView | RequirementView) -> Line:
    """With what was answered, and with what somebody undoes."""
    line = _answered(line, view.outcomes)
    undone = next(contested.told(view.changes, line.steps), "")
    return line._replace(message=f"{line.message}; {undone}") if undone else line


def _answered(line: Line, outcomes: Outcomes) -> Line:
    """Where steps fail, that is what is told; where the account lacks a right, so."""
    failed = list(retries.failures(outcomes, line.steps))
    if not failed:
        return line
    return line._replace(reason=_refusal(failed[0]), message=failed[0])


def _refusal(said: str) -> Reason:
    if is_denial(said):
        return Reason.REFUSED
    if "may not act as" in said:
        return Reason.NO_ACCOUNT
    if "is not the one with sha256" in said:
        return Reason.WRONG_CONTENT
    return Reason.NOT_ALLOWED if "forbidden" in said else Reason.REFUSED


def _app_type(view: AppView, now: datetime) -> Decided:
    app = view.site.app
    if app is None:
        return Decided()
    if view.reading and not app.deleting and not view.site.versions:
        return _until_read(view, app, now)
    line = _said(app_type.resolved(view, app, now), view)
    found = choosing.chosen(view, app)
    catalog = "" if isinstance(found, Line) or app.deleting else found.held.name
    return _of(line, (report.resolved_told(app, now, line, view, catalog),))


def _until_read(view: AppView, app: Custom, now: datetime) -> Decided:
    """Told only where nothing was told before: what was, stands until more is known."""
    if app_of(app).status.conditions:
        return Decided()
    line = Line(Reason.READING, "the catalogs are being read", Holds.UNKNOWN)
    return Decided(told=(report.resolved_told(app, now, line, view, ""),))


def _successor(view: AppView, now: datetime) -> Decided:
    app = view.site.app
    if app is None or app.deleting or view.reading:
        return Decided()
    course = successor.followed(view, app, now)
    course = course._replace(line=_said(course.line, view))
    return _of(course.line, (report.followed_told(app, now, course),))


def _install(view: InstallView, now: datetime) -> Decided:
    line, case = install.installed(view)
    line = _said(line, view)
    if line.reason is Reason.REMOVING:
        return Decided()
    return _of(line, (report.install_told(view.version, now, line, case),))


def _requirement(view: RequirementView, now: datetime) -> Decided:
    line = requirement.provided(view)
    if line is None:
        return Decided()
    line = _said(line, view)
    return _of(line, (report.provided_told(view.version, now, line),))


def _upgrade(view: OwnedView, now: datetime) -> Decided:
    taken = taking_over.taken_over(view)
    if taken is None:
        return Decided()
    taken = taken._replace(line=_said(taken.line, view))
    return _of(taken.line, (report.taken_told(view.version, now, taken),))


def _collect(view: OwnedView, now: datetime) -> Decided:
    found = collect.collected(view)
    if found is None:
        return Decided(told=report.kept_told(view.version, now))
    found = found._replace(line=_said(found.line, view))
    return _of(found.line, (report.collected_told(view.version, now, found),))
