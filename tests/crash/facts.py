"""Plain questions about the objects of a trace, answered from the objects themselves and nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.crash.calls import stable_name
from tests.crash.recorder import State
from tests.crash.scenarios import Workload

Json = dict[str, Any]
OURS = "shiplift.dev/"


def pods_of(state: State, workload: Workload) -> list[Json]:
    return [pod for pod in kind(state, "Pod") if owner(pod) == workload.id]


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


def pool(pod: Json) -> str:
    """The pool of the node that a pod is bound to, empty before that."""
    return pod["spec"].get("nodeName", "").rpartition("-")[0]


def all_on(state: State, workload: Workload, name: str) -> bool:
    """Whether all pods of a workload are there, healthy, and on nodes of that pool."""
    pods = pods_of(state, workload)
    return len(pods) == workload.replicas and all(healthy(pod) and pool(pod) == name for pod in pods)


def missing(state: State, workload: Workload) -> int:
    """How many pods of a workload are not there, not bound, or about to go."""
    there = sum(bool(pool(pod)) and not terminating(pod) for pod in pods_of(state, workload))
    return max(workload.replicas - there, 0)


def labels(thing: Json) -> dict[str, str]:
    return thing["metadata"].get("labels") or {}


def notes(thing: Json) -> dict[str, str]:
    return thing["metadata"].get("annotations") or {}


def selects(budget: Json, pod: Json) -> bool:
    wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
    same_space = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same_space and has(pod, wanted)


def has(pod: Json, wanted: Mapping[str, str]) -> bool:
    """Whether a pod carries these labels, whoever set them and when."""
    return wanted.items() <= labels(pod).items()


def migration(state: State) -> Json:
    found = list(kind(state, "WorkloadMigration"))
    return found[0] if found else {}


def residue(state: State) -> list[str]:
    """What of ours is left on objects that are not ours, and what of ours should be gone.

    Tolerations that are left on purpose, and the record of them, are no residue: status lists them.
    """
    at_once = migration(state).get("spec", {}).get("cleanup") == "Immediate"
    kept = bool(migration(state).get("status", {}).get("inertTolerations")) and not at_once
    placements = [(key, one["spec"]) for key, one in state.items() if key.kind == "WorkloadPlacement"]
    found = [f"{key} is left" for key, spec in placements if spec.get("turns") or not kept]
    for key, thing in state.items():
        if key.kind in ("WorkloadPlacement", "WorkloadMigration", "WorkloadOrder"):
            continue
        marks = [one for one in (*labels(thing), *notes(thing)) if one.startswith(OURS)]
        marks += [one["key"] for one in thing["spec"].get("taints", []) if one["key"].startswith(OURS)]
        marks += [one for one in thing["metadata"].get("finalizers", []) if one.startswith(OURS)]
        if at_once and key.kind in ("Deployment", "StatefulSet"):
            given = thing["spec"]["template"]["spec"].get("tolerations", [])
            marks += [one["key"] for one in given if one.get("key", "").startswith(OURS)]
        if labels(thing).get("app.kubernetes.io/managed-by") == "shiplift":
            marks.append("itself")
        found += [f"{key} keeps {mark}" for mark in marks]
    return sorted(found)
