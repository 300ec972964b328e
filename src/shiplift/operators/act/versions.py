"""An OperatorVersion from a bundle: what the catalog says of it, as an object of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.operators import AppType, OperatorVersionSpec
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import APP_TYPE, OPERATOR_VERSION
from shiplift.kube.client import Client
from shiplift.kube.outcomes import done, uid_of
from shiplift.operators.catalog import kubernetes, payload
from shiplift.operators.catalog.installation import NotInstallableError
from shiplift.operators.catalog.model import Bundle, Crd
from shiplift.operators.names import FINALIZER, INVENTORY, ORDER
from shiplift.operators.observe import pieces
from shiplift.operators.observe.shelf import Shelf
from shiplift.operators.steps import MakeVersion

Json = dict[str, Any]


def make(client: Client, shelf: Shelf, step: MakeVersion) -> Outcome:
    """For that very AppType, while it is there."""
    live = client.get(APP_TYPE, step.app_type, step.namespace)
    if uid_of(live) != step.app_uid or "deletionTimestamp" in live["metadata"]:
        return Outcome.refused(step, "its AppType is going, or another")
    bundle = shelf.bundle(step.catalog, step.package, step.bundle)
    if bundle is None:
        return Outcome.failed(step, f"catalog {step.catalog} does not have {step.bundle} any more")
    manifests = shelf.manifests(bundle.payload)
    app = msgspec.convert(live, AppType)
    try:
        wanted = pieces.wanted(bundle, manifests, step.namespace, app.spec)
        spec = spec_of(step, bundle, manifests, shelf)
    except NotInstallableError as error:
        return Outcome.failed(step, str(error))
    except msgspec.ValidationError as error:
        return Outcome.failed(step, f"{step.bundle} cannot be made an OperatorVersion: {error}")
    return done(step, client.create(OPERATOR_VERSION, _body(step, spec, wanted), step.namespace))


def _body(step: MakeVersion, spec: Json, wanted: Sequence[Json]) -> Json:
    owner = {
        "apiVersion": APP_TYPE.api_version,
        "kind": APP_TYPE.kind,
        "name": step.app_type,
        "uid": step.app_uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    meta = {
        "name": step.bundle,
        "labels": {MANAGED_BY: MANAGER},
        "annotations": {ORDER: str(step.order), INVENTORY: pieces.inventory(wanted)},
        "finalizers": [FINALIZER],
        "ownerReferences": [owner],
    }
    return {"metadata": meta, "spec": spec}


def spec_of(step: MakeVersion, bundle: Bundle, manifests: Sequence[Json], shelf: Shelf) -> Json:
    """A `msgspec.ValidationError` names what of it no OperatorVersion can say."""
    found: Json = {
        "appType": step.app_type,
        "package": step.package,
        "version": bundle.version,
        "installStrategy": _strategy(manifests),
        "replaces": step.replaces or None,
        "minKubernetesVersion": _kubernetes(bundle.min_kubernetes, "0"),
        "maxKubernetesVersion": _kubernetes(bundle.max_kubernetes, "99"),
        "ownedCRDs": _unique(_named(one, shelf) for one in bundle.owned),
        "requiredCRDs": _unique(_named(one, shelf) for one in bundle.required),
        "dependencies": list(
            {one.package: {"package": one.package, "range": one.range} for one in bundle.packages}.values()
        ),
        "bundle": bundle.payload,
    }
    given = {key: value for key, value in found.items() if value not in (None, [])}
    return msgspec.to_builtins(msgspec.convert(given, OperatorVersionSpec))


def _strategy(manifests: Sequence[Json]) -> Json:
    csv = next(one for one in manifests if payload.is_csv(one))
    given: Json = csv["spec"]["install"]["spec"]
    deployments = [
        {"name": one["name"], "spec": one["spec"], **({"labels": one["label"]} if one.get("label") else {})}
        for one in given.get("deployments") or ()
    ]
    strategy: Json = {"deployments": deployments}
    for name in ("permissions", "clusterPermissions"):
        granted = [one for one in given.get(name) or () if one.get("rules")]
        strategy |= {name: granted} if granted else {}
    return strategy


def _kubernetes(text: str, patch: str) -> str | None:
    """In full; what cannot be read is left to the catalog, which objects to it."""
    read = kubernetes.read(text) if text else None
    if read is None:
        return None
    return f"{read.major}.{read.minor}.{patch if read.patch is None else read.patch}"


def _named(one: Crd, shelf: Shelf) -> Json:
    """Some catalogs name group and kind only; the plural is then as somebody else's bundle has it."""
    plural = one.plural or shelf.plural(one.group, one.kind) or f"{one.kind.lower()}s"
    return {"name": f"{plural}.{one.group}", "version": one.version, "kind": one.kind}


def _unique(found: Iterator[Json]) -> list[Json]:
    return list({(one["name"], one["version"]): one for one in found}.values())
