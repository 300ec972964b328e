"""The AppType loop: a new AppType gets the newest version of its package. And its end: what was installed for
it goes, and that somebody wanted it gone is noted before it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from shiplift.api.marks import UPGRADE_HOLD
from shiplift.api.operators import Approval
from shiplift.engine.conditions import Status as Holds
from shiplift.engine.step import Step
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import APP_TYPE
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.decide import choosing, lineage
from shiplift.operators.decide.choosing import Chosen
from shiplift.operators.model import About, AppView, Line, Reason
from shiplift.operators.names import FINALIZER
from shiplift.operators.rows import app_of, catalog_status_of, stuck
from shiplift.operators.steps import Bury, DeleteVersion, MakeVersion, SetFinalizer

_LOOK_AGAIN = timedelta(seconds=5)


def resolved(view: AppView, app: Custom, now: datetime) -> Line:
    """Whether there is a version, and where it comes from."""
    if app.deleting:
        return _uninstalled(view, app, now)
    if FINALIZER not in app.finalizers and (view.site.versions or not app_of(app).spec.paused):
        steps = (SetFinalizer(APP_TYPE, app.namespace, app.name, app.uid, present=True),)
        return Line(Reason.MAKING, "it is taken up", steps=steps)
    if view.site.versions:
        return Line(Reason.MADE, f"{view.site.versions[-1].name} was made for it", Holds.TRUE)
    return _begun(view, app)


def _begun(view: AppView, app: Custom) -> Line:
    if why := waits(view, app):
        return why
    found = choosing.chosen(view, app)
    if isinstance(found, Line):
        return found
    bundle = choosing.first(view, app, found)
    if isinstance(bundle, Line):
        return bundle
    if bundle.name in view.taken:
        return name_taken(app, bundle)
    if why := unapproved(app, bundle.version, (bundle.version,)):
        return why
    return Line(Reason.MAKING, f"{bundle.name} is made", steps=(made(view, app, found, bundle),))


def waits(view: AppView, app: Custom) -> Line | None:
    """Why nothing new is begun, whatever the catalog has."""
    if app_of(app).spec.paused:
        return Line(Reason.PAUSED, "it is paused")
    if held := app.annotations.get(UPGRADE_HOLD):
        return Line(Reason.PAUSED, f"it is held by the upgrade of the cluster: {held}")
    if view.turn:
        return Line(Reason.TURN, view.turn)
    if not view.kubernetes:
        told = "which version of Kubernetes this is, nobody says"
        return Line(Reason.STALE_VIEW, told, Holds.UNKNOWN, due=_LOOK_AGAIN)
    return None


def unapproved(app: Custom, version: str, way: tuple[str, ...]) -> Line | None:
    """Whether somebody has to agree first; who agrees to a version agrees to the way to it."""
    spec = app_of(app).spec
    if spec.approval is not Approval.MANUAL:
        return None
    approved = (spec.approved or "").removeprefix("v")
    if approved in way:
        return None
    told = f"; {approved} is, which is not on the way" if approved else ""
    return Line(
        Reason.NEEDS_APPROVAL, f"version {version} is not approved{told}: set spec.approved of the AppType"
    )


def name_taken(app: Custom, bundle: Bundle) -> Line:
    told = f"OperatorVersion {app.namespace}/{bundle.name} belongs to another AppType"
    return Line(Reason.NAME_TAKEN, f"{told}: a namespace has room for one of a package")


def made(view: AppView, app: Custom, found: Chosen, bundle: Bundle, replaces: str = "") -> MakeVersion:
    last = max((lineage.number(view.site, one) for one in view.site.versions), default=0)
    return MakeVersion(
        namespace=app.namespace,
        app_type=app.name,
        app_uid=app.uid,
        catalog=found.held.name,
        package=found.package.name,
        bundle=bundle.name,
        version=bundle.version,
        order=last + 1,
        replaces=replaces,
    )


def _uninstalled(view: AppView, app: Custom, now: datetime) -> Line:
    versions = view.site.versions
    if versions:
        going = tuple(deleted(one, "its AppType is deleted") for one in versions if not one.deleting)
        kept = next((why for one in versions if (why := stuck(one, About.COLLECTED)) is not None), None)
        told = f"{versions[-1].name} is uninstalled"
        return Line(*_held(told, kept), steps=going)
    if FINALIZER not in app.finalizers:
        return Line(Reason.UNINSTALLING, "others keep it")
    if graves := tuple(_graves(view, app, now)):
        return Line(Reason.UNINSTALLING, "that it was uninstalled is noted", steps=graves)
    steps = (SetFinalizer(APP_TYPE, app.namespace, app.name, app.uid, present=False),)
    return Line(Reason.UNINSTALLING, "nothing of it is left", steps=steps)


def _held(told: str, why: tuple[Reason, str] | None) -> tuple[Reason, str]:
    return (Reason.UNINSTALLING, told) if why is None else (why[0], f"{told}: {why[1]}")


def deleted(one: Custom, why: str) -> DeleteVersion:
    return DeleteVersion(one.namespace, one.name, one.uid, str(one.resource_version), why)


def _comes_from(app: Custom) -> str:
    """The catalog; of one that was made for a definition also before it was looked up there."""
    return app_of(app).status.catalog or app_of(app).spec.catalog or ""


def _graves(view: AppView, app: Custom, now: datetime) -> Iterator[Step]:
    """In every catalog, since any of them may go, so that no definition brings it back."""
    package = app_of(app).spec.package
    if view.site.going or not _comes_from(app):
        return
    for row in view.catalogs:
        known = {(one.namespace, one.package) for one in catalog_status_of(row).tombstones}
        if (app.namespace, package) not in known:
            at = now.replace(microsecond=0).isoformat()
            yield Bury(row.name, row.uid, app.namespace, package, at)
