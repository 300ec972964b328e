"""What a release had stored at one moment, as YAML that a person can read.

Uids, generations and times are kept: stored objects name each other by them. What the API server fills in by
itself when it reads an object, and what says nothing of a migration, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.local.nodes import SERVICE_ACCOUNT

Json = dict[str, Any]
FOLDER = Path(__file__).parent
SPACE = "shiplift-system"

OURS = (
    (kinds.LEASE, SPACE, "shiplift"),
    (SERVICE_ACCOUNT, SPACE, "shiplift-fence"),
)
"""What of our own namespace changes while an operator works: who leads, and the epoch."""
KINDS = (
    kinds.WORKLOAD_MIGRATION,
    kinds.WORKLOAD_ORDER,
    kinds.WORKLOAD_PLACEMENT,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.NODE,
    kinds.NAMESPACE,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.REPLICA_SET,
    kinds.CONTROLLER_REVISION,
    kinds.POD,
)
"""What is kept of the whole cluster."""

_SYSTEM = ("default", "kube-node-lease", "kube-public", "kube-system", SPACE)
_UNTOLD_OF_META = ("managedFields", "resourceVersion", "generateName")
_UNTOLD = {
    "dnsPolicy": "ClusterFirst",
    "imagePullPolicy": "Always",
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "enableServiceLinks": True,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "progressDeadlineSeconds": 600,
    "revisionHistoryLimit": 10,
    "podManagementPolicy": "OrderedReady",
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
}
"""Values that the API server fills in where there is none."""
_UNTOLD_ANYWHERE = ("lastHeartbeatTime", "lastProbeTime", "blockOwnerDeletion")
_OF_A_POD_SPEC = ("affinity", "containers", "nodeName", "terminationGracePeriodSeconds")
_OF_A_READINESS = ("type", "status", "lastTransitionTime")
_FOR_FAILING_NODES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Every new pod tolerates these for a while."""


def stored(client: Client) -> list[Json]:
    """All of a cluster that matters to a migration."""
    found = [(kind, one) for kind in KINDS for one in client.list(kind) if _is_told(kind, one)]
    found += [(kind, client.get(kind, name, space)) for kind, space, name in OURS]
    return [_short(kind, one) for kind, one in found]


def save(path: Path, objects: Iterable[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(objects, sort_keys=False, default_flow_style=None, width=110))


def load(release: str, name: str) -> list[Json]:
    """The objects of a recorded file."""
    return [one for one in yaml.safe_load_all((FOLDER / release / f"{name}.yaml").read_text()) if one]


def of_kind(objects: Iterable[Json], kind: Kind) -> list[Json]:
    return [one for one in objects if one["kind"] == kind.kind]


def _is_told(kind: Kind, thing: Json) -> bool:
    about = thing["metadata"]
    space = about["name"] if kind == kinds.NAMESPACE else about.get("namespace", "")
    return space not in _SYSTEM


def _short(kind: Kind, thing: Json) -> Json:
    about = {key: value for key, value in thing["metadata"].items() if key not in _UNTOLD_OF_META}
    rest = {key: value for key, value in thing.items() if key not in ("apiVersion", "kind", "metadata")}
    match kind:
        case kinds.POD:
            rest = _short_pod(rest)
        case kinds.LEASE:
            rest["spec"]["holderIdentity"] = "the-operator-that-was-killed"
        case _:
            pass
    # what a ControllerRevision says is compared with its StatefulSet to the byte
    told = rest if kind == kinds.CONTROLLER_REVISION else _told(rest)
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": _told(about), **told}


def _short_pod(rest: Json) -> Json:
    spec, status = rest["spec"], rest["status"]
    containers = [{k: v for k, v in one.items() if k != "volumeMounts"} for one in spec["containers"]]
    tolerations = [one for one in spec["tolerations"] if one.get("key") not in _FOR_FAILING_NODES]
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    return {
        "spec": {
            **{key: value for key, value in spec.items() if key in _OF_A_POD_SPEC},
            "containers": containers,
            **({"tolerations": tolerations} if tolerations else {}),
        },
        "status": {
            "phase": status["phase"],
            "startTime": status["startTime"],
            "conditions": [{key: ready[key] for key in _OF_A_READINESS}],
        },
    }


def _told(value: Any) -> Any:
    if isinstance(value, list):
        return [_told(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _told(one)
        for key, one in value.items()
        if key not in _UNTOLD_ANYWHERE and not (key in _UNTOLD and _UNTOLD[key] == one)
    }
