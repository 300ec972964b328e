"""Puts what a release had stored into a fresh cluster, to the uid: as if its operator had just been killed.

Objects go straight into etcd, as JSON, which the API server reads as well as its own form: uids, generations
and the nodes of pods cannot be given through the API. Controllers and kubelets are stopped meanwhile and
begin with all of it: one that heard of a ReplicaSet before its pods would make others. CRDs and manifests are
applied as a person does it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.nodes import SERVICE_ACCOUNT
from tests.releases.application import Json
from tests.releases.record import kubectl_apply
from tests.releases.situation import FOLDER, KINDS, OURS, load, of_kind
from tests.until import until

_KINDS = {kind.kind: kind for kind in (*KINDS, *(kind for kind, _, _ in OURS))}
_ACTIVE = (Component.CONTROLLERS, Component.KWOK)
_SERVED = (kinds.WORKLOAD_MIGRATION, kinds.WORKLOAD_ORDER, kinds.WORKLOAD_PLACEMENT)


def install(cluster: Cluster, release: str) -> None:
    """CRDs and manifests of that release."""
    for name in ("crds", "manifests"):
        kubectl_apply(cluster, (FOLDER / release / f"{name}.yaml").read_text())
    with cluster.client() as client:
        for kind in _SERVED:
            until(lambda kind=kind: _established(client.get(kinds.CUSTOM_RESOURCE_DEFINITION, _crd(kind))))


def put(cluster: Cluster, objects: list[Json]) -> None:
    """All of these at once; returns when controllers and kubelets go on with them."""
    etcd = cluster.etcd
    for one in _ACTIVE:
        cluster.stop(one)
    etcd.put_back({**etcd.content(), **{_text(_key(one)): _text(json.dumps(one)) for one in objects}})
    cluster.up()
    nodes = {one["metadata"]["name"] for one in of_kind(objects, kinds.NODE)}
    spaces = {one["metadata"]["name"] for one in of_kind(objects, kinds.NAMESPACE)}
    with cluster.client() as client:
        until(lambda: nodes == _names(client.list(kinds.LEASE, "kube-node-lease")), 30)
        for space in spaces:
            until(lambda space=space: "default" in _names(client.list(SERVICE_ACCOUNT, space)), 30)


def situation(cluster: Cluster, release: str, name: str) -> list[Json]:
    """A recorded situation of that release, in this cluster; what was recorded."""
    install(cluster, release)
    objects = load(release, name)
    put(cluster, objects)
    return objects


def _key(thing: Json) -> str:
    """Where the API server keeps it."""
    kind, about = _KINDS[thing["kind"]], thing["metadata"]
    folder = f"{kind.group}/{kind.plural}" if kind.custom else kind.plural
    parts = ("minions" if kind == kinds.NODE else folder, about.get("namespace", ""), about["name"])
    return "/registry/" + "/".join(part for part in parts if part)


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _crd(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}"


def _established(crd: Json) -> bool:
    conditions = crd.get("status", {}).get("conditions", [])
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _names(things: Iterable[Json]) -> set[str]:
    return {one["metadata"]["name"] for one in things}
