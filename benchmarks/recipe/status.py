"""What the kubelet reports of a pod: conditions, addresses, and how each container fares."""

from __future__ import annotations

import random

from benchmarks.recipe.base import Json, digest, later, moment, seeded
from benchmarks.recipe.pods import Health, Pod

_NO_NODE = "0/2000 nodes are available: 1200 Insufficient cpu, 800 node(s) had untolerated taint(s)."
_STEPS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def status_of(pod: Pod) -> Json:
    """What the kubelet (or, for a pending pod, the scheduler) sets in the status."""
    rng = seeded("status", pod.number)
    start = moment(rng)
    if pod.health is Health.PENDING:
        return {"phase": "Pending", "conditions": [_unschedulable(start)]}
    ready = pod.health is Health.RUNNING
    address = f"10.{128 + (pod.number >> 16)}.{pod.number >> 8 & 255}.{pod.number & 255}"
    host = f"10.0.{rng.randrange(8)}.{rng.randrange(250)}"
    return {
        "phase": "Running",
        "observedGeneration": 1,
        "conditions": _conditions(start, ready),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": start,
        "containerStatuses": [
            _container(pod, container, later(start, 2 + index), rng, crashing=not ready and index == 0)
            for index, container in enumerate(pod.body["spec"]["containers"])
        ],
    }


def _conditions(start: str, ready: bool) -> list[Json]:
    delays = dict(zip(_STEPS, (2, 0, 9, 9, 0), strict=True))
    return [_condition(step, later(start, delays[step]), ready) for step in _STEPS]


def _condition(step: str, since: str, ready: bool) -> Json:
    condition: Json = {
        "type": step,
        "status": "True",
        "observedGeneration": 1,
        "lastProbeTime": None,
        "lastTransitionTime": since,
    }
    if not ready and step in {"Ready", "ContainersReady"}:
        reason = {"reason": "ContainersNotReady", "message": "containers with unready status: [app]"}
        condition |= {"status": "False"} | reason
    return condition


def _unschedulable(since: str) -> Json:
    return {
        "type": "PodScheduled",
        "status": "False",
        "observedGeneration": 1,
        "reason": "Unschedulable",
        "message": _NO_NODE,
        "lastTransitionTime": since,
    }


def _container(pod: Pod, container: Json, started: str, rng: random.Random, *, crashing: bool) -> Json:
    repository = container["image"].rpartition(":")[0]
    state: Json = (
        {"running": {"startedAt": started}} if not crashing else {"waiting": _back_off(container["name"])}
    )
    report: Json = {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"{repository}@sha256:{digest(container['image'])}",
        "containerID": f"containerd://{digest(pod.number, container['name'])}",
        "ready": not crashing,
        "started": not crashing,
        "restartCount": rng.randrange(40, 400) if crashing else max(0, rng.randrange(-20, 3)),
        "state": state,
        "lastState": {},
        "allocatedResources": container["resources"]["requests"],
        "resources": container["resources"],
        "user": {"linux": {"uid": 10001, "gid": 10001, "supplementalGroups": [10001]}},
        "volumeMounts": [
            {"name": mount["name"], "mountPath": mount["mountPath"]} for mount in container["volumeMounts"]
        ],
    }
    if report["restartCount"]:
        report["lastState"] = {"terminated": _ended(report["containerID"], started)}
    return report


def _back_off(name: str) -> Json:
    message = f"back-off 5m0s restarting failed container={name}"
    return {"reason": "CrashLoopBackOff", "message": message}


def _ended(container_id: str, started: str) -> Json:
    return {
        "containerID": container_id,
        "exitCode": 1,
        "reason": "Error",
        "startedAt": started,
        "finishedAt": later(started, 61),
    }
