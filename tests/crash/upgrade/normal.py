"""The end of a scenario without what is free: where pods are, when things were, how far an abort came."""

from __future__ import annotations

from collections import Counter

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from tests.crash import normal
from tests.crash.facts import OURS, Json, healthy, labels, owner
from tests.crash.nodes import facts as nodes
from tests.crash.recorder import Key, State
from tests.crash.suite import Flat
from tests.crash.upgrade.scenarios import Scenario

_FREE_STATUS = frozenset(
    {"message", "startTime", "eta", "history", "observedGeneration", "plan", "workloads", "findings"}
)
_FREE_PROGRESS = frozenset({"nodes", "currentVersion", "conditions"})
_APART = frozenset({"Pod", "Node", "ConfigMap", "WorkloadMigration"})
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
            flat |= dict(normal.flatten(str(key), normal.thing(thing)))
        elif key.kind not in _APART and not (scenario.interrupted and key.kind == "WorkloadPlacement"):
            flat |= dict(normal.flatten(str(key), _object(key, thing, scenario)))
    return flat


def _node(node: Json, scenario: Scenario) -> Json:
    free = (TARGET_LABEL, OFF_TARGET_LABEL) if scenario.interrupted else ()
    kept: Json = {
        "labels": {
            key: value for key, value in labels(node).items() if key.startswith(OURS) and key not in free
        },
        "closed": node["spec"].get("unschedulable", False),
    }
    return kept if scenario.interrupted else kept | {"version": nodes.version(node)}


def _object(key: Key, thing: Json, scenario: Scenario) -> Json:
    kept = normal.thing(thing, _REVISION)
    if key.kind == "UpgradeConfig":
        status = thing.get("status") or {}
        free = _FREE_STATUS | _FREE_PROGRESS if scenario.interrupted else _FREE_STATUS
        told = normal.status(status, _FREE_STATUS)
        kept["status"] = {name: value for name, value in told.items() if name not in free}
        kept["status"]["history"] = [
            (one["version"], one["phase"], one.get("precedingVersion")) for one in status.get("history", [])
        ]
    return kept
