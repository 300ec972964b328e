"""Plain questions about the objects of a trace, answered from the objects themselves and nothing else."""

from collections.abc import Iterable
from typing import Any

from tests.crash.calls import stable_name
from tests.crash.recorder import State

Json = dict[str, Any]
OURS = "shiplift.dev/"


def kind(state: State, name: str) -> Iterable[Json]:
    return [thing for key, thing in state.items() if key.kind == name]


def owner(pod: Json) -> str:
    """`namespace/name` of the workload that a pod belongs to, by its owner's name."""
    about = pod["metadata"]
    for reference in about.get("ownerReferences", []):
        if reference["kind"] == "StatefulSet":
            return f"{about['namespace']}/{reference['name']}"
        if reference["kind"] == "ReplicaSet":
            hashed = about.get("labels", {}).get("pod-template-hash", "")
            return f"{about['namespace']}/{reference['name'].removesuffix(f'-{hashed}')}"
    return f"{about['namespace']}/{stable_name(about['name'])}"


def terminating(thing: Json) -> bool:
    return "deletionTimestamp" in thing["metadata"]


def ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def healthy(pod: Json) -> bool:
    return ready(pod) and not terminating(pod)


def labels(thing: Json) -> dict[str, str]:
    return thing["metadata"].get("labels") or {}


def notes(thing: Json) -> dict[str, str]:
    return thing["metadata"].get("annotations") or {}
