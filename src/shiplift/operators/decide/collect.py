"""The loop of collection: a version that another has replaced, and that owns nothing, goes. One that somebody
deletes goes with what runs it; definitions stay, and with them every custom resource.

Kept true: a version is let go only when it was seen, live, to own nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from shiplift.api.operators import Uninstall
from shiplift.engine.step import Step
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, OPERATOR_VERSION, SERVICE_ACCOUNT
from shiplift.operators.decide import lineage
from shiplift.operators.decide.taking_over import removed
from shiplift.operators.model import Line, Owned, OwnedView, Reason
from shiplift.operators.names import FINALIZER, RIGHTS
from shiplift.operators.rows import app_of, is_paused, is_untouched, owner_of, version_of
from shiplift.operators.steps import DeleteVersion, ReleasePiece, SetFinalizer

_SOON = timedelta(seconds=1)
_LOOK_AGAIN = timedelta(seconds=15)
"""For what no event announces: a right that comes, an object that is handed over after all."""


class Collected(NamedTuple):
    """What becomes of a version."""

    line: Line
    replaced_by: str = ""
    owned: int = 0
    leftovers: tuple[str, ...] = ()


def collected(view: OwnedView) -> Collected | None:
    """None where the version stays."""
    one = view.version
    following = lineage.heir(view.site, one)
    owned = view.owned.get(one.uid, ())
    if following is None and not one.deleting:
        return None
    if view.site.going and one.deleting:
        return Collected(_let_go(one, "its namespace goes"))
    if one.deleting and is_untouched(one):
        return Collected(_let_go(one, "nothing of it was installed"), _name(following))
    if view.site.app is None:
        told = "its AppType is gone: nobody says as whom what it owns may be looked at and changed"
        line = Line(Reason.ORPHANED, f"{told}; make it again, or take our finalizer off")
    elif view.trouble is not None:
        line = Line(view.trouble.reason, view.trouble.message, due=_LOOK_AGAIN)
    elif following is not None:
        return _replaced(view, following, owned)
    else:
        return _removed(view, view.site.app, owned)
    return Collected(line, _name(following))


def _name(one: Custom | None) -> str:
    return one.name if one is not None else ""


def _replaced(view: OwnedView, following: Custom, owned: tuple[Owned, ...]) -> Collected:
    one = view.version
    left = tuple(each.about for each in owned)
    app = view.site.app
    if owned or not lineage.is_done(view.site, following) or (app is not None and is_paused(app)):
        due = _LOOK_AGAIN if lineage.is_done(view.site, following) else None
        line = Line(Reason.BEING_REPLACED, f"{following.name} takes over from it", due=due)
    elif one.deleting:
        line = _let_go(one, f"{following.name} has taken over")
    else:
        why = f"{following.name} has taken over, and it owns nothing"
        step = DeleteVersion(one.namespace, one.name, one.uid, str(one.resource_version), why)
        line = Line(Reason.COLLECTING, why, steps=(step,))
    return Collected(line, following.name, len(owned), left[:64])


def _let_go(one: Custom, why: str) -> Line:
    there = FINALIZER in one.finalizers
    step = SetFinalizer(OPERATOR_VERSION, one.namespace, one.name, one.uid, present=False)
    return Line(Reason.COLLECTING, why, steps=(step,) if there else ())


def _removed(view: OwnedView, app: Custom, owned: tuple[Owned, ...]) -> Collected:
    one = view.version
    if not owned:
        return Collected(_let_go(one, "it owns nothing any more"))
    steps = tuple(_ends(view, app, owned))
    told = steps[0].describe() if steps else f"{owned[0].about} is going"
    line = Line(Reason.REMOVING, told, steps=steps, due=_SOON)
    return Collected(line, "", len(owned), _abouts(owned))


def _abouts(owned: tuple[Owned, ...]) -> tuple[str, ...]:
    return tuple(each.about for each in owned)[:64]


def _ends(view: OwnedView, app: Custom, owned: tuple[Owned, ...]) -> Iterator[Step]:
    """What acts ends first: while the operator still runs, its rights and its definitions stay its own."""
    spec = app_of(app).spec
    running = tuple(one for one in owned if one.kind == DEPLOYMENT)
    for one in running or owned:
        if one.leaving:
            continue
        if _goes(one, spec.uninstall):
            yield removed(view, one, view.version, spec.service_account_name)
        else:
            yield _released(view, one, spec.service_account_name)


def _goes(one: Owned, wanted: Uninstall) -> bool:
    if one.kind == CUSTOM_RESOURCE_DEFINITION:
        return False
    runs_it = one.kind in (DEPLOYMENT, SERVICE_ACCOUNT) or one.kind.kind in RIGHTS
    return (runs_it and bool(one.bundle)) or wanted is Uninstall.REMOVE


def _released(view: OwnedView, one: Owned, account: str) -> ReleasePiece:
    return ReleasePiece(
        namespace=view.version.namespace,
        account=account,
        kind=one.kind,
        where=one.meta.get("namespace", ""),
        name=one.meta["name"],
        uid=one.meta["uid"],
        owner=owner_of(view.version),
        package=version_of(view.version).spec.package,
    )
