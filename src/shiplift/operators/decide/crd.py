"""The loop of CustomResourceDefinitions: one that we made because a version requires it gets the AppType of
the package that owns it, unless somebody has deleted that AppType before."""

from __future__ import annotations

from shiplift.facts.custom import Custom
from shiplift.operators.model import CrdView, Key, Loop, Provider
from shiplift.operators.names import REQUIRED
from shiplift.operators.rows import app_of, is_paused
from shiplift.operators.steps import MakeAppType


def owned(view: CrdView) -> MakeAppType | None:
    """The AppType to be made; none where there is one, or nobody knows which."""
    row = view.row
    if row is None or row.deleting or row.labels.get(REQUIRED) != "true" or len(view.providers) != 1:
        return None
    apps = [site.app for site in view.needed_by if site.app is not None and _wants(site.app)]
    if not apps:
        return None
    provider = view.providers[0]
    if any(package == provider.package for _, package in view.app_types):
        return None
    return _made(view, provider, apps[0])


def waiting(view: CrdView) -> tuple[Key, ...]:
    """Who tells that the AppType cannot be made."""
    versions = (one for site in view.needed_by for one in site.versions)
    return tuple(Key(Loop.REQUIREMENT, one.namespace, one.name) for one in versions)


def _wants(app: Custom) -> bool:
    return not app.deleting and not is_paused(app)


def _made(view: CrdView, provider: Provider, app: Custom) -> MakeAppType | None:
    """In the namespace of who requires it, by the same account."""
    place = (app.namespace, provider.package)
    if place in view.buried or place in view.names:
        return None
    return MakeAppType(
        namespace=app.namespace,
        name=provider.package,
        package=provider.package,
        catalog=provider.catalog,
        account=app_of(app).spec.service_account_name,
        crd=view.name,
    )
