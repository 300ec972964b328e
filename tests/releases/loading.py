"""Puts what a release had stored into a fresh cluster, to the uid: as if its operator had just been killed.

Objects go straight into etcd, as JSON, which the API server reads as well as its own form: uids, generations
and the nodes of pods cannot be given through the API. Controllers are stopped meanwhile and begin with all of
it: one that heard of a ReplicaSet before its pods would make others. CRDs and manifests are applied as a
person does it.
"""

from __future__ import annotations

import base64
import json

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.crash import facts
from tests.releases.application import Json
from tests.releases.record import kubectl_apply
from tests.releases.situation import FOLDER, KINDS, OURS, load
from tests.until import until

_KINDS = {kind.kind: kind for kind in (*KINDS, *(kind for kind, _, _ in OURS))}
_SERVED = (kinds.WORKLOAD_MIGRATION, kinds.WORKLOAD_ORDER, kinds.WORKLOAD_PLACEMENT)


def install(cluster: Cluster, release: str) -> None:
    """CRDs and manifests of that release."""
    for name in ("crds", "manifests"):
        kubectl_apply(cluster, (FOLDER / release / f"{name}.yaml").read_text())
    with cluster.client() as client:
        for kind in _SERVED:
            until(lambda kind=kind: _established(client.get(kinds.CUSTOM_RESOURCE_DEFINITION, _crd(kind))))


def put(cluster: Cluster, objects: list[Json]) -> None:
    """All of these at once; returns when every node and every pod is as well as it was."""
    etcd = cluster.etcd
    cluster.stop(Component.CONTROLLERS)
    etcd.put_back({**etcd.content(), **{_text(_key(one)): _text(json.dumps(one)) for one in objects}})
    cluster.start(Component.CONTROLLERS)
    with cluster.client() as client:
        until(lambda: all(map(facts.healthy, client.list(kinds.POD))), 30)
        until(lambda: all(_is_counted(one) for one in client.list(kinds.POD_DISRUPTION_BUDGET)), 30)


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


def _is_counted(budget: Json) -> bool:
    return budget["status"].get("observedGeneration") == budget["metadata"]["generation"]
