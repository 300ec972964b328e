"""The upgrade loop: once a version runs, all that the one before it owned becomes its own, write by write.

Kept true: nothing is without an owner at any moment, and nothing is controlled by two. What only the old
version needed (its Deployments, its rights) goes instead; a right that nobody needs is a right too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from shiplift.engine.conditions import Status as Holds
from shiplift.engine.step import Step
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import DEPLOYMENT, Kind
from shiplift.operators.decide import lineage
from shiplift.operators.handing.ownership import is_marked
from shiplift.operators.handing.steps import step as hand_over
from shiplift.operators.model import About, Line, Owned, OwnedView, Reason
from shiplift.operators.names import RIGHTS
from shiplift.operators.rows import app_of, holds, is_paused, owner_of
from shiplift.operators.steps import Hand, NoteKinds, RemovePiece

_SOON = timedelta(seconds=1)
_LOOK_AGAIN = timedelta(seconds=15)
"""For what no event announces: a right that comes, an object that somebody marks."""


class Taken(NamedTuple):
    """How far the hand-over is."""

    line: Line
    done: int = 0
    total: int = 0


def taken_over(view: OwnedView) -> Taken | None:
    """None where there is nothing to take over from."""
    before = lineage.predecessors(view.site, view.version)
    app = view.site.app
    if not before or view.version.deleting or app is None:
        return None
    names = ", ".join(one.name for one in before)
    if why := _waits(view, app, names):
        return Taken(why)
    account = app_of(app).spec.service_account_name
    if forgotten := _forgotten(view, before):
        return Taken(Line(Reason.HANDING_OVER, forgotten.describe(), steps=(forgotten,)))
    steps = [step for one in before for step in _steps(view, one, account)]
    mine = len(view.owned.get(view.version.uid, ()))
    if steps:
        told = f"{steps[0].describe()} and {len(steps) - 1} more"
        return Taken(Line(Reason.HANDING_OVER, told, steps=tuple(steps)), mine, mine + len(steps))
    if left := [one for old in before for one in view.owned.get(old.uid, ())]:
        told = "is going" if left[0].leaving else "is put by the installation"
        return Taken(Line(Reason.HANDING_OVER, f"{left[0].about} {told}", due=_SOON), mine, mine + len(left))
    line = Line(Reason.HANDED_OVER, f"{names} owns nothing any more", Holds.TRUE, due=_LOOK_AGAIN)
    return Taken(line, mine, mine)


def _forgotten(view: OwnedView, before: tuple[Custom, ...]) -> NoteKinds | None:
    """Of what it takes over, the kinds that it would not be looked through for: noted before the first object
    is its own, since the version that knows them goes."""
    staying = {
        one.kind
        for old in before
        for one in (*view.owned.get(old.uid, ()), *view.owned.get(view.version.uid, ()))
        if not _is_superseded(view, one, old)
    }
    missing = staying - view.kinds if view.kinds is not None else set[Kind]()
    if not missing:
        return None
    return NoteKinds(view.version.namespace, view.version.name, view.version.uid, tuple(sorted(missing)))


def _waits(view: OwnedView, app: Custom, names: str) -> Line | None:
    """Why nothing is taken over yet."""
    if is_paused(app):
        return Line(Reason.PAUSED, "its AppType is paused, or held by the upgrade of the cluster")
    if view.trouble is not None:
        return Line(view.trouble.reason, view.trouble.message, due=_LOOK_AGAIN)
    if not holds(view.version, About.INSTALLED):
        return Line(Reason.NOT_INSTALLED_YET, f"it takes over from {names} once it runs")
    return None


def _steps(view: OwnedView, old: Custom, account: str) -> Iterator[Step]:
    for one in _unique((*view.owned.get(old.uid, ()), *view.owned.get(view.version.uid, ()))):
        if one.leaving or _is_put_by_installation(view, one, old):
            continue
        if _is_superseded(view, one, old):
            yield removed(view, one, old, account)
            continue
        write = hand_over(one.kind, {"metadata": one.meta}, owner_of(old), owner_of(view.version))
        if write is not None:
            yield Hand(view.version.namespace, account, write)


def _unique(owned: Iterable[Owned]) -> Iterable[Owned]:
    return {one.meta["uid"]: one for one in owned}.values()


def _is_superseded(view: OwnedView, one: Owned, old: Custom) -> bool:
    """It came with the old version, does nothing but run it, and the new one does not bring it."""
    serves = one.kind.kind in RIGHTS or one.kind == DEPLOYMENT
    return serves and one.bundle == old.name and not _is_brought(view, one)


def _is_brought(view: OwnedView, one: Owned) -> bool:
    return (one.kind.kind, one.meta.get("namespace", ""), one.meta["name"]) in view.brings


def _is_put_by_installation(view: OwnedView, one: Owned, old: Custom) -> bool:
    """Both versions have it, and it still is as the old one wants it: the installation makes it the new one's
    in the write by which it becomes what that wants."""
    return _is_brought(view, one) and is_marked(one.meta, owner_of(old))


def removed(view: OwnedView, one: Owned, owner: Custom, account: str) -> RemovePiece:
    return RemovePiece(
        namespace=view.version.namespace,
        account=account,
        kind=one.kind,
        where=one.meta.get("namespace", ""),
        name=one.meta["name"],
        uid=one.meta["uid"],
        version=one.meta["resourceVersion"],
        owner=owner_of(owner),
    )
