"""The end of a scenario without what is free: where pods are, when things were, how far an abort came."""

from __future__ import annotations

from collections import Counter

from shiplift.agent.protocol import current_versions
from tests.crash import normal
from tests.crash.facts import OURS, Json, healthy, labels, notes, owner
from tests.crash.nodes import facts
from tests.crash.nodes.scenarios import Scenario
from tests.crash.recorder import Key, State
from tests.crash.suite import Flat

_FREE_STATUS = frozenset(
    {
        "message",
        "durationSeconds",
        "eta",
        "startTime",
        "completeTime",
        "passStartTime",
        "canaryStartTime",
        "snapshot",
        "nodes",
        "observedGeneration",
        "unavailable",  # mere progress: told a second later
    }
)
_FREE_PROGRESS = frozenset({"progress", "path", "runningPass"})
_APART = frozenset({"Pod", "Node", "ConfigMap", "WorkloadMigration"})
_HEALTH = "node.kubernetes.io/"
_REVISION = "deployment.kubernetes.io/revision"


def end(scenario: Scenario, state: State) -> Flat:
    """Pods are counted by what they are like; everything else is told by its own fields."""
    pods = Counter(
        normal.text({"pod": owner(thing), "healthy": healthy(thing)})
        for key, thing in state.items()
        if key.kind == "Pod"
    )
    flat: Flat = {f"number of {what}": number for what, number in pods.items()}
    for key, thing in state.items():
        if key.kind == "Node":
            flat |= dict(normal.flatten(str(key), _node(thing, scenario)))
        elif key.kind == "WorkloadMigration":
            status = thing.get("status") or {}
            flat |= {
                f"{key}.state": status.get("state"),
                f"{key}.outcome": status.get("last", {}).get("outcome"),
            }
        elif key.kind not in _APART:
            flat |= dict(normal.flatten(str(key), _object(key, thing, scenario)))
    return flat


def _node(node: Json, scenario: Scenario) -> Json:
    """What the node controller finds out about the health of a node is nobody's doing."""
    spec = node["spec"]
    kept: Json = {
        "labels": {key: value for key, value in labels(node).items() if key.startswith(OURS)},
        "taints": [one["key"] for one in spec.get("taints", []) if not one["key"].startswith(_HEALTH)],
        "closed": spec.get("unschedulable", False),
    }
    if scenario.interrupted:
        return kept
    return kept | {"version": facts.version(node), "software": current_versions(notes(node))}


def _object(key: Key, thing: Json, scenario: Scenario) -> Json:
    kept = normal.thing(thing, _REVISION)
    if key.kind == "NodeRollout":
        status = thing.get("status") or {}
        free = _FREE_STATUS | _FREE_PROGRESS if scenario.interrupted else _FREE_STATUS
        kept["status"] = normal.status(status, free)
        kept["status"]["copied"] = "snapshot" in status
        kept["status"]["nodes"] = sorted(
            (one["name"], one["state"], one.get("reason")) for one in status.get("nodes", [])
        )
    return kept
