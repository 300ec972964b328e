"""What becomes of a version that another has replaced, and of one that somebody deletes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SERVICE_ACCOUNT, Kind
from shiplift.operators.decide import lineage
from shiplift.operators.decide.collect import collected
from shiplift.operators.decide.taking_over import taken_over
from shiplift.operators.handing.ownership import OWNER, OWNER_UID, reference
from shiplift.operators.model import Owned, OwnedView, Reason, Site, Trouble
from shiplift.operators.names import ORDER, UNTOUCHED
from shiplift.operators.rows import owner_of
from shiplift.operators.steps import DeleteVersion, Hand, NoteKinds, ReleasePiece, RemovePiece, SetFinalizer
from tests.operators.decide.views import app, owned, site, version

ROLE = Kind("Role", "roles", "rbac.authorization.k8s.io")
OLD = version("1.0.0", 1, "", "Installed")
NEW = version("1.1.0", 2, "1.0.0", "Installed")
DONE = version("1.1.0", 2, "1.0.0", "Installed", "HandedOver")
BOTH = site(OLD, NEW)


def belongs(of: Custom, kind: Kind = CONFIG_MAP, name: str = "settings", bundle: str = "") -> Owned:
    owner = owner_of(of)
    marks: dict[str, Any] = {"labels": {OWNER: owner.label}, "annotations": {OWNER_UID: owner.uid}}
    refers = {"ownerReferences": [reference(owner, controller=True)]} if kind.namespaced else {}
    return owned(kind, name, bundle, **marks, **refers)


def view(where: Site, of: Custom, *found: Owned, by: Custom | None = None, **more: Any) -> OwnedView:
    return OwnedView(site=where, version=of, owned={(by or of).uid: found}, **more)


# --- taking over ---


def test_nothing_is_taken_over_before_the_new_version_runs() -> None:
    pending = version("1.1.0", 2, "1.0.0")
    taken = taken_over(view(site(OLD, pending), pending, belongs(OLD), by=OLD))
    assert taken is not None
    assert taken.line.steps == ()
    assert taken.line.holds is Holds.FALSE


def test_each_object_is_handed_over() -> None:
    taken = taken_over(view(BOTH, NEW, belongs(OLD), belongs(OLD, name="more"), by=OLD))
    assert taken is not None
    assert [type(one) for one in taken.line.steps] == [Hand, Hand]
    assert (taken.done, taken.total) == (0, 2)


def test_what_only_the_old_version_needed_goes() -> None:
    found = [belongs(OLD, ROLE, "old-role", OLD.name), belongs(OLD, DEPLOYMENT, "app", OLD.name)]
    taken = taken_over(view(BOTH, NEW, *found, by=OLD))
    assert taken is not None
    assert [type(one) for one in taken.line.steps] == [RemovePiece, RemovePiece]
    brought = frozenset({("Deployment", "ops", "app")})
    kept = taken_over(view(BOTH, NEW, *found, by=OLD, brings=brought))
    assert kept is not None
    assert [type(one) for one in kept.line.steps] == [RemovePiece]
    waits = taken_over(view(BOTH, NEW, found[1], by=OLD, brings=brought))
    assert waits is not None
    assert (waits.line.holds, waits.line.steps) == (Holds.FALSE, ()), "the installation puts it"


def test_kinds_that_only_the_old_version_brought_are_noted_first() -> None:
    found = [belongs(OLD), belongs(OLD, ROLE, "old-role", OLD.name)]
    taken = taken_over(view(BOTH, NEW, *found, by=OLD, kinds=frozenset({DEPLOYMENT})))
    assert taken is not None
    (step,) = taken.line.steps
    assert isinstance(step, NoteKinds)
    assert step.kinds == (CONFIG_MAP,), "a right that goes is none of them"
    known = taken_over(view(BOTH, NEW, *found, by=OLD, kinds=frozenset({DEPLOYMENT, CONFIG_MAP})))
    assert known is not None
    assert [type(one) for one in known.line.steps] == [Hand, RemovePiece]


def test_what_an_operator_made_itself_is_never_removed() -> None:
    taken = taken_over(view(BOTH, NEW, belongs(OLD, DEPLOYMENT, "made"), by=OLD))
    assert taken is not None
    assert [type(one) for one in taken.line.steps] == [Hand]


def test_it_is_over_when_the_old_one_owns_nothing() -> None:
    taken = taken_over(view(BOTH, NEW, by=OLD))
    assert taken is not None
    assert (taken.line.reason, taken.line.holds) == (Reason.HANDED_OVER, Holds.TRUE)
    going = owned(name="going", deletionTimestamp="2026-11-17T12:00:00Z")
    waits = taken_over(view(BOTH, NEW, going, by=OLD))
    assert waits is not None
    assert (waits.line.holds, waits.line.steps) == (Holds.FALSE, ())


def test_who_takes_over_from_nobody_has_nothing_to_say() -> None:
    assert taken_over(view(site(OLD), OLD)) is None


# --- collection ---


def test_a_version_goes_when_it_owns_nothing_and_the_next_is_through() -> None:
    found = collected(view(site(OLD, DONE), OLD))
    assert found is not None
    (step,) = found.line.steps
    assert isinstance(step, DeleteVersion)
    assert found.replaced_by == DONE.name


@pytest.mark.parametrize(
    ("where", "left"),
    [(site(OLD, NEW), ()), (site(OLD, DONE), (belongs(OLD),)), (site(OLD, version("1.1.0", 2, "1.0.0")), ())],
)
def test_it_stays_while_it_owns_something_or_the_next_is_not_through(
    where: Site, left: tuple[Owned, ...]
) -> None:
    found = collected(view(where, OLD, *left))
    assert found is not None
    assert found.line.steps == ()
    assert found.owned == len(left)


def test_a_version_that_nobody_replaces_stays() -> None:
    assert collected(view(site(OLD), OLD)) is None


def test_it_is_let_go_when_it_is_deleted_and_owns_nothing() -> None:
    going = version("1.0.0", 1, "", "Installed", deleting=5)
    found = collected(view(site(going, DONE), going))
    assert found is not None
    (step,) = found.line.steps
    assert isinstance(step, SetFinalizer)
    assert not step.present


GOING = version("1.0.0", 1, "", "Installed", deleting=5)


@pytest.mark.parametrize(
    ("kind", "bundle", "uninstall", "expected"),
    [
        (DEPLOYMENT, GOING.name, "Keep", RemovePiece),
        (SERVICE_ACCOUNT, GOING.name, "Keep", RemovePiece),
        (ROLE, GOING.name, "Keep", RemovePiece),
        (CONFIG_MAP, GOING.name, "Keep", ReleasePiece),
        (CONFIG_MAP, GOING.name, "Remove", RemovePiece),
        (DEPLOYMENT, "", "Keep", ReleasePiece),
        (DEPLOYMENT, "", "Remove", RemovePiece),
        (CUSTOM_RESOURCE_DEFINITION, GOING.name, "Keep", ReleasePiece),
        (CUSTOM_RESOURCE_DEFINITION, GOING.name, "Remove", ReleasePiece),
    ],
)
def test_what_goes_and_what_stays_at_the_end(kind: Kind, bundle: str, uninstall: str, expected: type) -> None:
    found = collected(
        view(site(GOING, of=app(uninstall=uninstall)), GOING, belongs(GOING, kind, "x", bundle))
    )
    assert found is not None
    assert [type(one) for one in found.line.steps] == [expected]


def test_what_acts_ends_before_its_rights_do() -> None:
    both = [belongs(GOING, ROLE, "r", GOING.name), belongs(GOING, DEPLOYMENT, "app", GOING.name)]
    found = collected(view(site(GOING), GOING, *both))
    assert found is not None
    assert [one.name for one in found.line.steps if isinstance(one, RemovePiece)] == ["app"]


def test_without_its_apptype_nothing_of_it_is_touched() -> None:
    for left in ((belongs(GOING),), ()):
        found = collected(view(Site(app=None, versions=(GOING,)), GOING, *left))
        assert found is not None
        assert (found.line.reason, found.line.steps) == (Reason.ORPHANED, ()), (
            "what was not seen is not nothing"
        )


def test_a_version_of_which_nothing_came_goes_whoever_may_look() -> None:
    notes = {ORDER: "1", UNTOUCHED: "true"}
    going = version("1.0.0", deleting=5, notes=notes)
    hidden = Trouble(Reason.NO_ACCOUNT, "the operator may not act as ServiceAccount ops/installer")
    for where in (site(going), Site(app=None, versions=(going,))):
        found = collected(view(where, going, trouble=hidden))
        assert found is not None
        assert [type(one) for one in found.line.steps] == [SetFinalizer]
    begun = version("1.0.0", deleting=5)
    stays = collected(view(site(begun), begun, trouble=hidden))
    assert stays is not None
    assert (stays.line.reason, stays.line.steps) == (Reason.NO_ACCOUNT, ())


def test_nothing_is_handed_back_by_a_version_of_which_nothing_came() -> None:
    for notes, before in (({ORDER: "2", UNTOUCHED: "true"}, ()), ({ORDER: "2"}, ("app.v1.1.0",))):
        gone = version("1.1.0", 2, "1.0.0", deleting=5, notes=notes)
        found = lineage.predecessors(site(OLD, gone), OLD)
        assert tuple(one.name for one in found) == before


def test_it_does_not_hold_up_a_namespace_that_goes() -> None:
    found = collected(view(site(GOING, going=True), GOING, belongs(GOING)))
    assert found is not None
    assert [type(one) for one in found.line.steps] == [SetFinalizer]


def test_what_waits_for_a_right_or_for_somebody_looks_again_by_itself() -> None:
    """No event tells of a right that is given, nor of an object that nobody watches."""
    hidden = Trouble(Reason.NOT_ALLOWED, "may not list configmaps")
    waits = [
        collected(view(site(GOING), GOING, trouble=hidden)),
        collected(view(site(OLD, DONE), OLD, belongs(OLD))),
        taken_over(view(BOTH, NEW, trouble=hidden)),
        taken_over(view(site(OLD, DONE), DONE)),
    ]
    for found in waits:
        assert found is not None
        assert found.line.due == timedelta(seconds=15)
    quiet = collected(view(BOTH, OLD, belongs(OLD)))
    assert quiet is not None
    assert quiet.line.due is None, "the next version tells when it is through"
