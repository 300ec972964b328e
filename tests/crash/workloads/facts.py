"""What is asked of the objects of a scenario, answered from the objects themselves and nothing else."""

from collections import Counter
from collections.abc import Mapping

from shiplift.facts import kinds
from tests.crash.facts import OURS, Json, healthy, kind, labels, notes, owner, terminating
from tests.crash.orders import SPACE
from tests.crash.recorder import Key, State
from tests.crash.workloads.shape import NEW, NEW_POOL, OLD, OLD_POOL, Workload

_OWN_KINDS = frozenset(one.kind for one in kinds.OURS)
"""Each layer tells what of its own objects is left."""
_SIDES = {NEW: NEW_POOL.name, OLD: OLD_POOL.name}


def pods_of(state: State, workload: Workload) -> list[Json]:
    return [pod for pod in kind(state, "Pod") if owner(pod) == workload.id]


def node_of(pod: Json) -> str:
    """The node that a pod is bound to, empty before that."""
    return pod["spec"].get("nodeName", "")


def side(state: State, pod: Json) -> str:
    """`old` or `new`: what the node of a pod is by its version now, whatever it was before; else its pool."""
    node = state.get(Key("Node", "", node_of(pod)), {})
    version = node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", "")
    return _SIDES.get(version, node_of(pod).rpartition("-")[0])


def all_on(state: State, workload: Workload, name: str) -> bool:
    """Whether all pods of a workload are there, healthy, and on that side."""
    pods = pods_of(state, workload)
    return len(pods) == workload.replicas and all(healthy(pod) and side(state, pod) == name for pod in pods)


def missing(state: State, workload: Workload) -> int:
    """How many pods of a workload are not there, not bound, or about to go."""
    there = sum(bool(node_of(pod)) and not terminating(pod) for pod in pods_of(state, workload))
    return max(workload.replicas - there, 0)


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
        if key.kind in _OWN_KINDS or key.namespace == SPACE:
            continue
        marks = [one for one in (*labels(thing), *notes(thing)) if one.startswith(OURS)]
        marks += [
            one["key"] for one in thing.get("spec", {}).get("taints", []) if one["key"].startswith(OURS)
        ]
        marks += [one for one in thing["metadata"].get("finalizers", []) if one.startswith(OURS)]
        if at_once and key.kind in ("Deployment", "StatefulSet"):
            given = thing["spec"]["template"]["spec"].get("tolerations", [])
            marks += [one["key"] for one in given if one.get("key", "").startswith(OURS)]
        if labels(thing).get("app.kubernetes.io/managed-by") == "shiplift":
            marks.append("itself")
        found += [f"{key} keeps {mark}" for mark in marks]
    return sorted(found)


def told(state: State) -> str:
    """One line about where a run stands."""
    status = migration(state).get("status", {})
    pods = Counter(f"{owner(pod)} on {node_of(pod) or 'no node'}" for pod in kind(state, "Pod"))
    waiting = [f"{one['name']}: {one.get('message', '')}" for one in status.get("workloads", [])]
    said = f"state {status.get('state')}, {status.get('message', '')}"
    return f"{said}; {waiting}; {dict(pods)}; {residue(state)}"
