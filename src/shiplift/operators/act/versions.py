"""An OperatorVersion from a bundle: what the catalog says of it, as an object of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.operators import AppType, OperatorVersion, OperatorVersionSpec
from shiplift.api.upgrade import UpgradeConfig
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import APP_TYPE, OPERATOR_VERSION, UPGRADE_CONFIG, Kind
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound
from shiplift.kube.outcomes import LATER, done, uid_of
from shiplift.operators.catalog import kubernetes, payload
from shiplift.operators.catalog.installation import NotInstallableError
from shiplift.operators.catalog.model import Bundle, Crd
from shiplift.operators.names import (
    FINALIZER,
    HAND_OVER,
    HOOKED,
    INVENTORY,
    ORDER,
    UNTOUCHED,
    UPGRADE,
    UPGRADEABLE,
)
from shiplift.operators.observe import pieces
from shiplift.operators.observe.shelf import Shelf
from shiplift.operators.rows import denied, turn_of
from shiplift.operators.steps import Begin, HookDone, MakeVersion, NoteKinds, NoteOrder

Json = dict[str, Any]


Noted = Begin | HookDone | NoteKinds | NoteOrder


def take(client: Client, shelf: Shelf, step: MakeVersion | Noted) -> Outcome:
    match step:
        case MakeVersion():
            return make(client, shelf, step)
        case Begin():
            return begin(client, step)
        case NoteKinds():
            return change(client, step, _subject(step), lambda live: _inherits(live, step.kinds))
        case NoteOrder():
            return change(client, step, _subject(step), lambda live: _numbered(live, step.order))
        case HookDone():
            noted = Edit({"metadata": {"annotations": {HOOKED: step.job}}})
            return change(client, step, _subject(step), lambda _: noted)


def _subject(step: Noted) -> Subject:
    kind = OPERATOR_VERSION
    return Subject(kind, step.name, step.namespace, step.uid, kind.kind)


def make(client: Client, shelf: Shelf, step: MakeVersion) -> Outcome:
    """For that very AppType, while it is there."""
    live = client.get(APP_TYPE, step.app_type, step.namespace)
    app = msgspec.convert(live, AppType)
    if uid_of(live) != step.app_uid or "deletionTimestamp" in live["metadata"] or app.spec.paused:
        return Outcome.refused(step, "its AppType is paused, going, or another", LATER)
    if why := _not_now(client, step):
        return Outcome.refused(step, why, LATER)
    bundle = shelf.bundle(step.catalog, step.package, step.bundle)
    if bundle is None:
        return Outcome.failed(step, f"catalog {step.catalog} does not have {step.bundle} any more")
    manifests = shelf.manifests(bundle.payload)
    try:
        wanted = pieces.wanted(bundle, manifests, step.namespace, app.spec)
        spec = spec_of(step, bundle, manifests, shelf)
    except NotInstallableError as error:
        return Outcome.failed(step, str(error))
    except msgspec.ValidationError as error:
        return Outcome.failed(step, f"{step.bundle} cannot be made an OperatorVersion: {error}")
    return done(step, client.create(OPERATOR_VERSION, _body(step, spec, wanted), step.namespace))


def begin(client: Client, step: Begin) -> Outcome:
    """Nothing begins of a version that is being deleted: whoever collects it goes by the annotation."""

    def edit(live: Json) -> Edit | Outcome:
        if "deletionTimestamp" in live["metadata"]:
            return Outcome.refused(step, "it is being deleted", LATER)
        there = UNTOUCHED in (live["metadata"].get("annotations") or {})
        return Edit({"metadata": {"annotations": {UNTOUCHED: None}}} if there else {})

    return change(client, step, _subject(step), edit)


def _inherits(live: Json, kinds: Sequence[Kind]) -> Edit:
    notes: Json = live["metadata"].get("annotations") or {}
    known = pieces.kinds_of(notes)
    if known.issuperset(kinds):
        return Edit({})
    return Edit({"metadata": {"annotations": {INVENTORY: pieces.listed(known.union(kinds))}}})


def _numbered(live: Json, order: int) -> Edit:
    notes: Json = live["metadata"].get("annotations") or {}
    there = notes.get(ORDER) == str(order)
    return Edit({} if there else {"metadata": {"annotations": {ORDER: str(order)}}})


def _not_now(client: Client, step: MakeVersion) -> str:
    """A veto, or the upgrade of the cluster, as they are now: a store may be a moment behind, and a version
    that is made is not taken back."""
    try:
        upgrade = msgspec.convert(client.get(UPGRADE_CONFIG, UPGRADE), UpgradeConfig)
    except NotFound:
        upgrade = None
    if upgrade is not None and (why := turn_of(upgrade)):
        return why
    if not step.replaces:
        return ""
    before = msgspec.convert(client.get(OPERATOR_VERSION, step.replaces, step.namespace), OperatorVersion)
    veto = denied(before.status, UPGRADEABLE)
    return "" if veto is None else f"{step.replaces} must not be replaced now: {veto}"


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
        "annotations": {
            ORDER: str(step.order),
            INVENTORY: pieces.inventory(wanted),
            UNTOUCHED: "true",
        },
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
        "maxKubernetesVersion": _kubernetes(kubernetes.highest(bundle), "99"),
        "ownedCRDs": _unique(_named(one, shelf) for one in bundle.owned),
        "requiredCRDs": _unique(_required(_named(one, shelf), manifests) for one in bundle.required),
        "dependencies": list(
            {one.package: {"package": one.package, "range": one.range} for one in bundle.packages}.values()
        ),
        "handOver": _hand_over(manifests),
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


def _hand_over(manifests: Sequence[Json]) -> Json | None:
    """As its author wrote it beside the version; who writes something else there is told so."""
    csv = next(one for one in manifests if payload.is_csv(one))
    notes: dict[str, str] = csv["metadata"].get("annotations") or {}
    text = notes.get(HAND_OVER, "")
    try:
        return msgspec.json.decode(text, type=Json) if text else None
    except msgspec.MsgspecError as error:
        raise NotInstallableError(f"its annotation {HAND_OVER} cannot be read: {error}") from None


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


def _required(one: Json, manifests: Sequence[Json]) -> Json:
    """With what its author says of it beside: whether it can do without, and which content it must have."""
    csv = next(one for one in manifests if payload.is_csv(one))
    described: Json = csv["spec"].get("customresourcedefinitions") or {}
    for said in described.get("required") or ():
        if (said.get("name"), said.get("version")) == (one["name"], one["version"]):
            return one | {key: said[key] for key in ("optional", "sha256") if key in said}
    return one


def _unique(found: Iterator[Json]) -> list[Json]:
    return list({(one["name"], one["version"]): one for one in found}.values())
