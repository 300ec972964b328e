"""Which version an AppType gets first, and which comes next."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.operators import AppTypeStatus
from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import OPERATOR_CATALOG
from shiplift.operators.catalog.model import Package
from shiplift.operators.decide import app_type, successor
from shiplift.operators.decide.decision import decide
from shiplift.operators.model import About, AppView, Line, Loop, Reason
from shiplift.operators.names import ORDER, UNTOUCHED
from shiplift.operators.steps import DeleteVersion, MakeVersion, SetFinalizer
from shiplift.operators.tell import report
from tests.operators.decide.views import NOW, app, app_view, held, line, row, site, version

THREE = line("1.0.0", "1.1.0", "1.2.0")


def first(found: Package | None, view: dict[str, Any] | None = None, **spec: Any) -> Line:
    of = app(**spec)
    return app_type.resolved(app_view(site(of=of), found, **(view or {})), of, NOW)


def made(line: Line) -> str:
    (step,) = line.steps
    assert isinstance(step, MakeVersion)
    return step.bundle


def test_the_newest_is_installed_first() -> None:
    said = first(THREE)
    assert made(said) == "app.v1.2.0"
    assert said.reason is Reason.MAKING


def test_a_pin_is_installed_first() -> None:
    assert made(first(THREE, version="1.1.0")) == "app.v1.1.0"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"version": "9.0.0"}, Reason.NO_VERSION),
        ({"channel": "beta"}, Reason.NO_CHANNEL),
        ({"catalog": "other"}, Reason.NO_CATALOG),
        ({"paused": True}, Reason.PAUSED),
        ({"held": "nodes first"}, Reason.PAUSED),
        ({"approval": "Manual"}, Reason.NEEDS_APPROVAL),
        ({"approval": "Manual", "approved": "1.0.0"}, Reason.NEEDS_APPROVAL),
    ],
)
def test_what_keeps_it_is_named_and_nothing_is_made(spec: dict[str, Any], reason: Reason) -> None:
    said = first(THREE, **spec)
    assert said.reason is reason
    assert said.steps == ()


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        ({"turn": "the control plane first"}, Reason.TURN),
        ({"kubernetes": ""}, Reason.STALE_VIEW),
        ({"taken": frozenset({"app.v1.2.0"})}, Reason.NAME_TAKEN),
        ({"held": ()}, Reason.NO_CATALOG),
        ({"held": (held(THREE, paused=True),)}, Reason.NO_CATALOG),
    ],
)
def test_so_is_what_is_in_the_way_around_it(view: dict[str, Any], reason: Reason) -> None:
    said = first(THREE, view)
    assert said.reason is reason
    assert said.steps == ()


def test_of_two_catalogs_the_first_in_order_counts() -> None:
    both = (held(line("2.0.0"), "high", 10), held(THREE, "low"))
    assert made(first(None, {"held": both})) == "app.v2.0.0"
    assert made(first(None, {"held": both}, catalog="low")) == "app.v1.2.0"


def test_while_the_catalog_that_it_came_from_cannot_be_read_no_other_takes_its_place() -> None:
    of = app()
    of = msgspec.structs.replace(
        of, object=msgspec.structs.replace(of.object, status=AppTypeStatus(catalog="high"))
    )
    unread = row(OPERATOR_CATALOG, "high", {"source": {"folder": {"path": "/catalog"}}})
    view = app_view(site(RUNS, of=of), None, held=(held(THREE, "low"),), catalogs=(unread,))
    assert successor.followed(view, of, NOW).line.reason is Reason.UNREADABLE
    gone = msgspec.structs.replace(view, catalogs=())
    assert successor.followed(gone, of, NOW).line.steps


def test_what_cannot_run_here_is_passed_over() -> None:
    found = line("1.0.0", "1.1.0", **{"1.1.0": {"min_kubernetes": "1.99.0"}})
    assert made(first(found)) == "app.v1.0.0"
    none = line("1.0.0", **{"1.0.0": {"max_kubernetes": "1.30"}})
    said = first(none)
    assert said.reason is Reason.NOT_HERE
    assert "1.30" in said.message


def test_who_agrees_to_the_newest_gets_it() -> None:
    assert made(first(THREE, approval="Manual", approved="1.2.0")) == "app.v1.2.0"


# --- the next ---


def following(*versions: Any, view: dict[str, Any] | None = None, **spec: Any) -> successor.Course:
    of = app(**spec)
    seen: AppView = app_view(site(*versions, of=of), THREE, **(view or {}))
    return successor.followed(seen, of, NOW)


RUNS = version("1.0.0", 1, "", "Installed")
FRESH = version("1.0.0", created=int(NOW.timestamp()) - 60)
"""It was made a minute ago."""


def test_the_next_hop_takes_over_from_what_runs() -> None:
    course = following(RUNS)
    (step,) = course.line.steps
    assert isinstance(step, MakeVersion)
    assert (step.bundle, step.replaces, step.order) == ("app.v1.1.0", "app.v1.0.0", 2)
    assert course.latest == "1.2.0"
    assert [one.bundle.version for one in course.way] == ["1.1.0", "1.2.0"]


def test_at_the_head_there_is_nothing_to_do() -> None:
    said = following(version("1.2.0", 1, "", "Installed")).line
    assert (said.reason, said.holds, said.steps) == (Reason.UP_TO_DATE, Holds.TRUE, ())


def test_one_hop_at_a_time() -> None:
    newer = version("1.1.0", 2, "1.0.0", "Installed", "HandedOver")
    assert following(RUNS, newer).line.steps == (), "what was replaced is still to be collected"
    assert following(RUNS, version("1.1.0", 2, "1.0.0")).line.steps == ()
    assert following(FRESH).line.steps == (), "it does not run yet"


def test_a_first_version_that_never_came_to_run_is_left_for_the_next() -> None:
    for stuck in (version("1.0.0"), version("1.0.0", 1, "", "no:Installed")):
        course = following(stuck)
        assert (made(course.line), course.latest) == ("app.v1.1.0", "1.2.0")
    assert following(version("1.2.0")).line.reason is Reason.UPGRADING, "there is no other"


def test_a_first_version_has_its_time_to_run_and_is_looked_at_after_it() -> None:
    line = following(FRESH).line
    assert (line.steps, line.due) == ((), timedelta(minutes=9))


def test_a_first_version_that_does_not_run_is_left_at_once_where_another_is_pinned() -> None:
    assert made(following(FRESH, version="1.1.0").line) == "app.v1.1.0"
    newer = version("1.2.0", created=int(NOW.timestamp()))
    assert following(newer, version="1.0.0").line.reason is Reason.GOING_BACK
    assert following(FRESH, version="1.0.0").line.steps == ()


def test_a_pin_stops_it_there() -> None:
    assert following(RUNS, version="1.0.0").line.reason is Reason.PINNED
    course = following(RUNS, version="1.1.0")
    assert made(course.line) == "app.v1.1.0"
    assert course.latest == "1.1.0"


def test_a_pin_below_goes_back_at_once() -> None:
    course = following(version("1.2.0", 4, "1.1.0", "Installed"), version="1.0.0")
    (step,) = course.line.steps
    assert isinstance(step, MakeVersion)
    assert (step.bundle, step.replaces, step.order) == ("app.v1.0.0", "app.v1.2.0", 5)
    assert course.line.reason is Reason.GOING_BACK


def test_a_pin_to_what_runs_withdraws_what_is_not_through() -> None:
    course = following(RUNS, version("1.1.0", 2, "1.0.0"), version="1.0.0")
    (step,) = course.line.steps
    assert isinstance(step, DeleteVersion)
    assert step.name == "app.v1.1.0"


@pytest.mark.parametrize(
    ("spec", "view", "reason"),
    [
        ({"approval": "Manual"}, {}, Reason.NEEDS_APPROVAL),
        ({"paused": True}, {}, Reason.PAUSED),
        ({}, {"turn": "the control plane first"}, Reason.TURN),
        ({}, {"taken": frozenset({"app.v1.1.0"})}, Reason.NAME_TAKEN),
    ],
)
def test_what_keeps_the_next_is_told_as_a_block(
    spec: dict[str, Any], view: dict[str, Any], reason: Reason
) -> None:
    course = following(RUNS, view=view, **spec)
    assert course.line.reason is reason
    assert course.line.steps == ()
    assert course.blocked == (course.line.message,)


def test_a_veto_of_what_runs_is_respected() -> None:
    course = following(version("1.0.0", 1, "", "Installed", "no:Upgradeable"))
    assert course.line.reason is Reason.VETOED
    assert course.line.steps == ()


def test_who_agrees_to_a_version_agrees_to_the_way_to_it() -> None:
    assert made(following(RUNS, approval="Manual", approved="1.2.0").line) == "app.v1.1.0"


def test_no_way_is_told_with_the_reason() -> None:
    course = following(version("0.5.0", 1, "", "Installed"))
    assert course.line.reason is Reason.NO_WAY
    assert "0.5.0" in course.line.message


def beyond(*numbers: str, runs: str = "1.0.0", **fields: Any) -> successor.Course:
    of = app()
    where = site(version(runs, 1, "", "Installed"), of=of)
    return successor.followed(app_view(where, line(*numbers, **fields)), of, NOW)


def test_where_the_head_cannot_run_here_the_highest_that_can_is_taken_and_why_no_further_is_told() -> None:
    course = beyond("1.0.0", "1.1.0", "1.2.0", **{"1.2.0": {"min_kubernetes": "1.99.0"}})
    assert made(course.line) == "app.v1.1.0"
    assert course.latest == "1.1.0"
    assert any("1.99.0" in one for one in course.blocked)
    end = beyond("1.0.0", "1.1.0", "1.2.0", runs="1.1.0", **{"1.2.0": {"min_kubernetes": "1.99.0"}})
    assert (end.line.reason, end.line.steps) == (Reason.NO_WAY, ())


def test_a_version_that_waits_for_somebody_before_it_began_is_told_as_a_block() -> None:
    waits = version("1.1.0", 2, "1.0.0", notes={ORDER: "2", UNTOUCHED: "true"})
    course = following(RUNS, told_by(waits, Line(Reason.NOT_ALLOWED, "it may not")))
    assert (course.line.reason, course.line.steps) == (Reason.NOT_ALLOWED, ())
    assert course.blocked == (course.line.message,)


def told_by(of: Custom, line: Line) -> Custom:
    told = report.version_told(of, NOW, [report.statement(About.INSTALLED, line)])
    return msgspec.structs.replace(of, object=msgspec.structs.replace(of.object, status=told.status))


def test_while_nothing_of_the_next_version_is_installed_what_runs_is_what_is_told() -> None:
    fresh = version("1.1.0", 2, "1.0.0", notes={ORDER: "2", UNTOUCHED: "true"})
    waits = told_by(fresh, Line(Reason.NOT_ALLOWED, "it may not"))
    runs = told_by(RUNS, Line(Reason.INSTALLED, "it runs", Holds.TRUE))
    of = app()
    view = app_view(site(runs, waits, of=of), THREE)
    told = report.resolved_told(of, NOW, Line(Reason.MADE, "", Holds.TRUE), view, "main")
    assert {one.type: one.status.value for one in told.status.conditions}["Ready"] == "True"


@pytest.mark.parametrize("pin", ["1.0.0", "0.9.0"])
def test_of_two_versions_that_never_ran_the_newer_goes_where_one_below_is_pinned(pin: str) -> None:
    course = following(version("1.0.0"), version("1.1.0", 2, "1.0.0"), version=pin)
    (step,) = course.line.steps
    assert isinstance(step, DeleteVersion)
    assert step.name == "app.v1.1.0"


@pytest.mark.parametrize("pin", [None, "1.1.0"])
def test_a_version_that_somebody_went_back_to_goes_where_they_think_better_of_it(pin: str | None) -> None:
    runs = version("1.2.0", 1, "", "Installed")
    older = version("1.0.0", 2, "1.2.0")
    (step,) = following(runs, older, version=pin).line.steps
    assert isinstance(step, DeleteVersion)
    assert step.name == "app.v1.0.0"
    assert not following(runs, older, version="1.0.0").line.steps


# --- before catalogs are read ---


def test_while_a_catalog_is_read_for_the_first_time_nothing_is_told_of_what_it_may_have() -> None:
    of = app()
    view = app_view(site(RUNS, of=of), None, reading=True)
    assert decide(view, NOW, Loop.CATALOG).told == ()
    known = msgspec.structs.replace(
        of, object=msgspec.structs.replace(of.object, status=told_of(app_view(site(of=of), THREE), of))
    )
    first_look = app_view(site(of=known), None, reading=True)
    assert decide(first_look, NOW, Loop.APP_TYPE).told == ()
    going = app(deleting=5)
    assert decide(app_view(site(RUNS, of=going), None, reading=True), NOW, Loop.APP_TYPE).steps


@pytest.mark.parametrize("paused", [True, False])
def test_our_finalizer_is_put_back_on_an_app_type_that_has_a_version(paused: bool) -> None:
    of = msgspec.structs.replace(app(paused=paused), finalizers=())
    (step,) = decide(app_view(site(RUNS, of=of), THREE), NOW, Loop.APP_TYPE).steps
    assert isinstance(step, SetFinalizer)


def told_of(view: AppView, of: Custom) -> AppTypeStatus:
    (told,) = decide(view, NOW, Loop.APP_TYPE).told
    assert told.row is of
    assert isinstance(told.status, AppTypeStatus)
    return told.status


def test_an_app_type_of_which_nothing_was_told_yet_says_that_the_catalogs_are_being_read() -> None:
    of = app()
    status = told_of(app_view(site(of=of), None, reading=True), of)
    said = {one.type: (one.status, one.reason) for one in status.conditions}
    assert said["Resolved"] == ("Unknown", "Reading")
