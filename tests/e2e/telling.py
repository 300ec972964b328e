"""What can be seen of an operator that runs in a cluster, for whoever looks for what is wrong with it: its
pods with their last words, who leads, what is under way, and what happened around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.lease import NOT_ACTING
from shiplift.operator import inside
from tests.machines import traffic

Json = dict[str, Any]
_LINES = 12
"""Of each log."""
_LONGEST = 400


def told(client: Client, space: str) -> str:
    """All of it, a line each; of what cannot be asked, why."""
    return "\n".join(f"  {line}" for part in _PARTS for line in _asked(part, client, space))


def _asked(part: Callable[[Client, str], Iterator[str]], client: Client, space: str) -> Iterator[str]:
    try:
        yield from part(client, space)
    except KubeError as error:
        yield f"{type(error).__name__}: {error}"[:_LONGEST]


# --- its pods ---


def operators(client: Client, space: str) -> list[Json]:
    """Its pods, those on their way out too."""
    selector = ",".join(f"{key}={value}" for key, value in inside.LABELS.items())
    return list(client.list(kinds.POD, space, label_selector=selector))


def of_pod(pod: Json) -> str:
    """Which release a pod is of, where it is, and why it is not Ready."""
    about, image = pod["metadata"], pod["spec"]["containers"][0]["image"]
    leaves = ["on its way out"] if "deletionTimestamp" in about else []
    words = [_part(pod, "status").get("phase", ""), *leaves, *_conditions(pod), *_containers(pod)]
    return f"pod {about['name']} of {image} on {pod['spec'].get('nodeName') or 'no node'}: {', '.join(words)}"


def _conditions(pod: Json) -> Iterator[str]:
    for one in _entries(_part(pod, "status"), "conditions"):
        if one["status"] != "True" or one["type"] == "DisruptionTarget":
            yield f"{one['type']} {one['status']} {one.get('message') or one.get('reason') or ''}".strip()


def _containers(pod: Json) -> Iterator[str]:
    """What they wait for, and how they ended."""
    for one in _started(pod):
        if count := one.get("restartCount"):
            yield f"started {count + 1} times"
        for state in (_part(one, "state"), _part(one, "lastState")):
            for name in ("waiting", "terminated"):
                if found := _part(state, name):
                    words = [str(found[key]) for key in ("reason", "exitCode", "message") if key in found]
                    yield f"{name}: {' '.join(words)}"[:_LONGEST]


def reasons(pod: Json) -> set[str]:
    """Why its containers wait, in the words of a kubelet."""
    return {_part(_part(one, "state"), "waiting").get("reason", "") for one in _started(pod)} - {""}


def _started(pod: Json) -> list[Json]:
    return _entries(_part(pod, "status"), "containerStatuses")


def _part(of: Json, name: str) -> Json:
    return of.get(name) or {}


def _entries(of: Json, name: str) -> list[Json]:
    return of.get(name) or []


def _pods(client: Client, space: str) -> Iterator[str]:
    for pod in operators(client, space):
        yield of_pod(pod)
        yield from _asked(lambda client, space, pod=pod: _log(client, space, pod), client, space)


def _log(client: Client, space: str, pod: Json) -> Iterator[str]:
    """What its container said last; what the one before it did, where that ended."""
    path = kinds.POD.path(space, pod["metadata"]["name"], "log")
    ended = any(one.get("restartCount") for one in _started(pod))
    for more in ((("previous", "true"),) if ended else (), ()):
        said = client.raw("GET", path, query=(("tailLines", str(_LINES)), *more)).decode(errors="replace")
        yield from (f"  {line[:_LONGEST]}" for line in said.splitlines())


# --- what it leads and does ---


def _leader(client: Client, space: str) -> Iterator[str]:
    lease = client.get(kinds.LEASE, inside.NAME, space)
    why, spec = _part(lease["metadata"], "annotations").get(NOT_ACTING), _part(lease, "spec")
    says = f", and does not act: {why}" if why else ""
    yield f"{spec.get('holderIdentity') or 'nobody'} leads, and has said so at {spec.get('renewTime')}{says}"


def _rollouts(client: Client, _: str) -> Iterator[str]:
    for one in client.list(kinds.NODE_ROLLOUT):
        yield _of_work("NodeRollout", one, "phase", "nodes")


def _migrations(client: Client, _: str) -> Iterator[str]:
    for one in client.list(kinds.WORKLOAD_MIGRATION):
        yield _of_work("WorkloadMigration", one, "state", "workloads")


def _of_work(kind: str, found: Json, state: str, parts: str) -> str:
    """Where it is, and what its parts wait for."""
    status = _part(found, "status")
    head = f"{kind} {found['metadata']['name']}: {status.get(state)} {status.get('message', '')}"
    listed = _entries(status, parts)
    lines = [f"{one.get('name')} {one.get('state')} {one.get('message', '')}" for one in listed]
    return "; ".join([head, *lines])[: 4 * _LONGEST]


def _happened(client: Client, space: str) -> Iterator[str]:
    yield f"happened: {traffic.told(client, space)}"


_PARTS = (_pods, _leader, _rollouts, _migrations, _happened)
