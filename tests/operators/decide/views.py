"""Views for the decisions of this layer, in a few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from shiplift import api
from shiplift.api.marks import UPGRADE_HOLD
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import APP_TYPE, CONFIG_MAP, DEPLOYMENT, OPERATOR_VERSION, Kind
from shiplift.facts.meta import Labels
from shiplift.operators.catalog.model import Bundle, Catalog, Package
from shiplift.operators.model import AppView, Held, InstallView, Live, Owned, Piece, Site
from shiplift.operators.names import FINALIZER, ORDER
from tests.operators.catalog.building import bundle, entry, package

Json = dict[str, Any]
NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
HERE = "v1.36.3"
SPACE = "ops"


def row(kind: Kind, name: str, spec: Json, **more: Any) -> Custom:
    """As the store has it; `conditions` are told as type, status and message."""
    said = [
        {
            "type": about,
            "status": status,
            "reason": "Installed",
            "message": message,
            "lastTransitionTime": "2026-11-17T10:00:00Z",
        }
        for about, status, message in more.get("conditions", ())
    ]
    body = {"metadata": {"name": name, "namespace": SPACE}, "spec": spec, "status": {"conditions": said}}
    return Custom(
        namespace=SPACE,
        name=name,
        uid=more.get("uid", f"uid-{name}"),
        resource_version=7,
        generation=1,
        created=more.get("created", 100),
        deleting=more.get("deleting", 0),
        labels=Labels(),
        annotations=Labels(more.get("annotations", {})),
        owners=(),
        finalizers=more.get("finalizers", (FINALIZER,)),
        object=api.decode(kind, msgspec.json.encode(body)),
    )


def app(held: str = "", **spec: Any) -> Custom:
    wanted = {"package": "app", "serviceAccountName": "installer", **spec}
    deleting = wanted.pop("deleting", 0)
    notes = {UPGRADE_HOLD: held} if held else {}
    return row(APP_TYPE, "app", wanted, deleting=deleting, annotations=notes)


def version(number: str, order: int = 1, replaces: str = "", *said: str, **more: Any) -> Custom:
    """Of conditions those that hold are named; `no:Upgradeable` is one that does not."""
    spec: Json = {
        "appType": "app",
        "package": "app",
        "version": number,
        "installStrategy": {"deployments": [{"name": "app", "spec": {}}]},
        **more.pop("spec", {}),
    }
    spec |= {"replaces": f"app.v{replaces}"} if replaces else {}
    conditions = [
        (one.removeprefix("no:"), "False" if one.startswith("no:") else "True", "because") for one in said
    ]
    return row(
        OPERATOR_VERSION,
        f"app.v{number}",
        spec,
        conditions=conditions,
        annotations=more.pop("notes", {ORDER: str(order)}),
        **more,
    )


def line(*numbers: str, **fields: Any) -> Package:
    """Each version replaces the one before it."""
    entries = [entry(one, numbers[place - 1] if place else "") for place, one in enumerate(numbers)]
    given = tuple(bundle(one, payload=f"sha256:{one}", **fields.get(one, {})) for one in numbers)
    return package(*entries, bundles=given)


def held(found: Package, name: str = "main", priority: int = 0, **more: Any) -> Held:
    return Held(name, priority, Catalog((found,)), **more)


def site(*versions: Custom, of: Custom | None = None, **more: Any) -> Site:
    return Site(app=of if of is not None else app(), versions=versions, **more)


def app_view(where: Site, found: Package | None = None, **more: Any) -> AppView:
    catalogs = (held(found),) if found is not None else ()
    return AppView(site=where, **{"held": catalogs, "kubernetes": HERE, **more})


def piece(kind: Kind = CONFIG_MAP, name: str = "settings", digest: str = "new", **live: Any) -> Piece:
    """With something there, where it is said."""
    there = Live(**{"uid": f"uid-{name}", "version": "7", **live}) if live else None
    where = SPACE if kind.namespaced else ""
    return Piece(kind, where, name, {"metadata": {"name": name}}, digest, there)


def mine(of: Custom, digest: str = "new", **more: Any) -> Json:
    """What is there belongs to that version."""
    return {"owner_uid": of.uid, "manifest": digest, "bundle": of.name, **more}


def install_view(where: Site, of: Custom, *pieces: Piece, **more: Any) -> InstallView:
    alive = frozenset(one.uid for one in where.versions)
    return InstallView(
        site=where,
        version=of,
        pieces=pieces,
        **{"kubernetes": HERE, "alive": alive, "bundle": Bundle(name=of.name, version="1.0.0"), **more},
    )


def owned(kind: Kind = CONFIG_MAP, name: str = "settings", bundle: str = "", **meta: Any) -> Owned:
    where = {"namespace": SPACE} if kind.namespaced else {}
    about = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", **where, **meta}
    return Owned(kind, about, bundle)


__all__ = ["DEPLOYMENT", "NOW", "SPACE"]
