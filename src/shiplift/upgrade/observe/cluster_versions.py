"""OpenShift's ClusterVersion as the conductor sees it: read live by name, it has no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from shiplift.engine import times
from shiplift.facts.kinds import CLUSTER_VERSION
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.upgrade.model import ClusterVersion
from shiplift.upgrade.names import CLUSTER_VERSION_NAME

Json = Mapping[str, Any]
_COMPLETED = "Completed"


def read(client: Client) -> ClusterVersion | str:
    """What it says, or why nobody knows."""
    try:
        return seen(client.get(CLUSTER_VERSION, CLUSTER_VERSION_NAME))
    except KubeError as error:
        return str(error)


def seen(live: Json) -> ClusterVersion:
    spec, status = _part(live, "spec"), _part(live, "status")
    said = {one.get("type"): one for one in _list(status, "conditions") if one.get("status") == "True"}
    not_so = {one.get("type"): one for one in _list(status, "conditions") if one.get("status") == "False"}
    offered = [
        *(one.get("version") for one in _list(status, "availableUpdates")),
        *(_part(one, "release").get("version") for one in _list(status, "conditionalUpdates")),
    ]
    done = (one.get("version", "") for one in _list(status, "history") if one.get("state") == _COMPLETED)
    return ClusterVersion(
        uid=live["metadata"]["uid"],
        reached=next(done, ""),
        wanted=_part(spec, "desiredUpdate").get("version") or "",
        channel=spec.get("channel") or "",
        channel_since=_written(live["metadata"], "f:channel"),
        offered=frozenset(one for one in offered if one),
        message=_message(said.get("Progressing")),
        failing=_message(said.get("Failing")) or _message(not_so.get("ReleaseAccepted")),
        not_upgradeable=_message(not_so.get("Upgradeable")),
    )


def _written(about: Json, field: str) -> datetime | None:
    """When a field of the spec was written last, by whomever; None where nobody says it."""
    entries = [
        one for one in _list(about, "managedFields") if field in _part(_part(one, "fieldsV1"), "f:spec")
    ]
    written = (times.read(one.get("time")) for one in entries)
    return max((one for one in written if one is not None), default=None)


def _part(of: Json, name: str) -> Json:
    found: Json | None = of.get(name)
    return found or {}


def _list(of: Json, name: str) -> Sequence[Json]:
    found: Sequence[Json] | None = of.get(name)
    return found or ()


def _message(condition: Json | None) -> str:
    """What a condition says; empty where there is none."""
    if condition is None:
        return ""
    return str(condition.get("message") or condition.get("reason") or condition.get("type") or "")[:1000]
