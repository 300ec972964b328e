"""What a version is made of, and what of it is there: read live, as the AppType's ServiceAccount."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shiplift.api.hooks import state_of
from shiplift.api.operators import AppTypeSpec
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, JOB, POD, Kind
from shiplift.kube.client import Client
from shiplift.kube.credentials import Impersonation
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.kube.fence import service_account
from shiplift.kube.manifests import kind_of
from shiplift.operators.catalog.installation import BROUGHT, NotInstallableError, Watches, objects
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.crds.definition import (
    content_of,
    served_by,
    storage_of,
    stored_content_of,
    stored_in,
)
from shiplift.operators.handing.ownership import OWNER, OWNER_UID, Owner
from shiplift.operators.model import Job, Live, Owned, Piece, Reason, Trouble
from shiplift.operators.names import BUNDLE, CONTENT, INVENTORY, MANIFEST, STORED, UNINSTALLED

Json = dict[str, Any]


class TroubledError(Exception):
    """Something cannot be looked at."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


def as_account(client: Client, namespace: str, account: str) -> Client:
    """For calls as that account: what it may not do is not done."""
    return client.acting_as(Impersonation(service_account(namespace, account)))


def forbidden(error: Forbidden, namespace: str, account: str) -> Trouble:
    """Whether we may not act as the account, or the account may not do it."""
    if "cannot impersonate" in error.message:
        grant = f"shiplift manifests --account {namespace}/{account} | kubectl apply -f -"
        told = f"the operator may not act as ServiceAccount {namespace}/{account}; `{grant}` lets it"
        return Trouble(Reason.NO_ACCOUNT, told)
    return Trouble(Reason.NOT_ALLOWED, error.message)


def wanted(bundle: Bundle, manifests: Sequence[Json], namespace: str, spec: AppTypeSpec) -> list[Json]:
    """The objects of a version, in the order of need."""
    targets = set(spec.target_namespaces)
    if targets - {namespace}:
        raise NotInstallableError("targetNamespaces other than the AppType's own are not possible yet")
    return objects(bundle, manifests, namespace, Watches.OWN if targets else None)


def digest_of(manifest: Json) -> str:
    """Of what it says, wherever it came from: two versions may bring the same."""
    meta = dict(manifest["metadata"])
    notes: Mapping[str, str] = meta.get("annotations") or {}
    meta["annotations"] = {key: one for key, one in notes.items() if key != BUNDLE}
    text = msgspec.json.encode({**manifest, "metadata": meta}, order="deterministic")
    return hashlib.sha256(text).hexdigest()


def pieces(client: Client, manifests: Iterable[Json]) -> tuple[Piece, ...]:
    """Each object with what is there of it."""
    return tuple(_piece(client, one) for one in manifests)


def _piece(client: Client, manifest: Json) -> Piece:
    kind, meta = kind_of(manifest), manifest["metadata"]
    namespace, name = meta.get("namespace", ""), meta["name"]
    try:
        live = _live(client.get(kind, name, namespace), manifest, kind)
    except NotFound:
        live = None
    return Piece(kind, namespace, name, manifest, digest_of(manifest), live)


def _live(found: Json, manifest: Json, kind: Kind) -> Live:
    meta = found["metadata"]
    notes: Mapping[str, str] = meta.get("annotations") or {}
    return Live(
        uid=meta["uid"],
        version=meta["resourceVersion"],
        owner_uid=notes.get(OWNER_UID, ""),
        labelled=OWNER in (meta.get("labels") or {}),
        manifest=notes.get(MANIFEST, ""),
        bundle=notes.get(BUNDLE, ""),
        leaving="deletionTimestamp" in meta,
        generation=meta.get("generation", 0),
        other_selector=kind == DEPLOYMENT and _selects(found) != _selects(manifest),
        storage=storage_of(found) if kind == CUSTOM_RESOURCE_DEFINITION else "",
        stored=stored_in(found) if kind == CUSTOM_RESOURCE_DEFINITION else (),
        served=served_by(found) if kind == CUSTOM_RESOURCE_DEFINITION else (),
        altered=kind == CUSTOM_RESOURCE_DEFINITION and is_altered(found, content_of(manifest)),
    )


def is_altered(live: Json, content: str) -> bool:
    """Whether a definition that was made with that content says something else by now; of one that was made
    otherwise, or before this was noted, nobody knows."""
    notes: Mapping[str, str] = live["metadata"].get("annotations") or {}
    noted = notes.get(STORED, "") if notes.get(CONTENT) == content else ""
    return bool(noted) and noted != stored_content_of(live)


def definition(client: Client, name: str) -> Json | None:
    """As it is there now. A list of one: as ourselves we may list definitions, and that is all."""
    found = client.list(CUSTOM_RESOURCE_DEFINITION, field_selector=f"metadata.name={name}")
    return next((one for one in found if one["metadata"]["name"] == name), None)


def job(client: Client, namespace: str, name: str) -> Job | None:
    """How the Job of a hook is; None where there is none, or no name is given."""
    try:
        return Job(*state_of(client.get(JOB, name, namespace))) if name else None
    except NotFound:
        return None


def has_pods(client: Client, namespace: str, deployment: str, selector: str) -> bool:
    """Whether a pod of the Deployment has not ended, be it that it is deleted already."""
    return any(_is_of(one, deployment) for one in client.list(POD, namespace, selector))


def _is_of(pod: Json, deployment: str) -> bool:
    """By the name of its ReplicaSet: another Deployment may select by the same labels."""
    meta: Json = pod["metadata"]
    labels: Mapping[str, str] = meta.get("labels") or {}
    references: list[Json] = meta.get("ownerReferences") or []
    made_by = f"{deployment}-{labels.get('pod-template-hash', '')}"
    status: Json = pod.get("status") or {}
    over = status.get("phase") in ("Succeeded", "Failed")
    return not over and any(one.get("name") == made_by for one in references)


def _selects(deployment: Json) -> Json:
    selector: Json = deployment.get("spec", {}).get("selector") or {}
    return {key: value for key, value in selector.items() if value}


def owned(
    client: Client, kinds: Iterable[Kind], owners: Mapping[Owner, Collection[str]]
) -> dict[str, tuple[Owned, ...]]:
    """By uid of each owner: all that says that it belongs to it, or refers to it; and of the Deployments that
    are given by name those off which somebody has taken our marks."""
    found: dict[str, list[Owned]] = {one.uid: [] for one in owners}
    selector = f"{OWNER} in ({','.join(sorted({one.label for one in owners}))})"
    space = next(iter(owners)).namespace
    for kind in kinds:
        for live in client.list(kind, space if kind.namespaced else "", selector):
            _sort_in(found, kind, live["metadata"])
    marked = {one.meta["name"] for listed in found.values() for one in listed if one.kind == DEPLOYMENT}
    for owner, names in owners.items():
        for name in sorted(set(names) - marked):
            found[owner.uid] += unmarked_or_of(client, owner, name)
    return {uid: tuple(listed) for uid, listed in found.items()}


def unmarked_or_of(client: Client, owner: Owner, name: str) -> Iterator[Owned]:
    """The Deployment of that name, where it does not say whose it is, or that it is that owner's."""
    try:
        meta: Json = client.get(DEPLOYMENT, name, owner.namespace)["metadata"]
    except NotFound:
        return
    notes: Mapping[str, str] = meta.get("annotations") or {}
    if notes.get(OWNER_UID, owner.uid) == owner.uid:
        yield Owned(DEPLOYMENT, _slim(meta), owner.name)


def _sort_in(found: dict[str, list[Owned]], kind: Kind, meta: Json) -> None:
    notes: Mapping[str, str] = meta.get("annotations") or {}
    references: list[Json] = meta.get("ownerReferences") or []
    belongs = {notes.get(OWNER_UID, ""), *(one.get("uid", "") for one in references)}
    for uid in belongs & found.keys():
        found[uid].append(Owned(kind, _slim(meta), notes.get(BUNDLE, "")))


def _slim(meta: Json) -> Json:
    return {key: meta[key] for key in _KEPT if key in meta}


_KEPT = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "deletionTimestamp",
)


def inventory(manifests: Iterable[Json]) -> str:
    """The kinds of these objects, for the annotation of their version."""
    return listed(kind_of(one) for one in manifests)


def listed(kinds: Iterable[Kind]) -> str:
    """Each once, in a stable order, as `kinds_of` reads them."""
    return msgspec.json.encode(sorted(set(kinds))).decode()


def kinds_of(annotations: Mapping[str, str]) -> frozenset[Kind]:
    """The kinds that a version may own objects of; all that there can be where nobody says."""
    try:
        return frozenset(msgspec.json.decode(annotations.get(INVENTORY, ""), type=list[Kind])) or _ALL
    except msgspec.MsgspecError:
        return _ALL


def uninstalled(annotations: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Namespace and package of those who owned a definition and were uninstalled; what nobody can read says
    nothing."""
    try:
        return frozenset(msgspec.json.decode(annotations.get(UNINSTALLED, ""), type=list[tuple[str, str]]))
    except msgspec.MsgspecError:
        return frozenset()


def and_uninstalled(annotations: Mapping[str, str], namespace: str, package: str) -> str:
    """What the annotation says with one more of them."""
    return msgspec.json.encode(sorted(uninstalled(annotations) | {(namespace, package)})).decode()


_ALL = frozenset(
    kind_of({"apiVersion": api, "kind": kind, "metadata": {"namespace": "any"} if namespaced else {}})
    for api, kind, namespaced in BROUGHT
)
