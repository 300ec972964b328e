"""The end of a scenario without what is free: which node of a pool, which name of a pod, how far it came."""

from __future__ import annotations

from collections import Counter

from tests.crash import normal
from tests.crash.facts import OURS, Json, healthy, labels, owner
from tests.crash.recorder import Key, State
from tests.crash.suite import Flat
from tests.crash.workloads.facts import side
from tests.crash.workloads.scenarios import Scenario

_FREE_STATUS = frozenset({"moves", "eta", "pace", "last", "observedGeneration", "met"})
_FREE_PROGRESS = frozenset({"progress", "pods", "waves", "workloads", "exceptions"})
_HEALTH = "node.kubernetes.io/"
_REVISION = "deployment.kubernetes.io/revision"


def end(scenario: Scenario, state: State) -> Flat:
    """Pods and nodes are counted by what they are like; everything else by its own fields."""
    flat: Flat = {}
    alike = Counter(
        normal.text(_pod(thing, state, scenario) if key.kind == "Pod" else _node(thing))
        for key, thing in state.items()
        if key.kind in ("Pod", "Node")
    )
    flat |= {f"number of {what}": number for what, number in alike.items()}
    for key, thing in state.items():
        if key.kind not in ("Pod", "Node"):
            flat |= dict(normal.flatten(str(key), _object(key, thing, scenario)))
    return flat


def _pod(pod: Json, state: State, scenario: Scenario) -> Json:
    known: Json = {"pod": owner(pod), "healthy": healthy(pod)}
    known |= {} if scenario.free_placement else {"on": side(state, pod)}
    # half-way back, whether a pod was moved at all is open
    return known | ({"affinity": pod["spec"].get("affinity")} if not scenario.interrupted else {})


def _node(node: Json) -> Json:
    """What the node controller finds out about the health of a node is nobody's doing."""
    name, spec = node["metadata"]["name"], node["spec"]
    return {
        "node": name.rpartition("-")[0],
        "labels": {key: value for key, value in labels(node).items() if key.startswith(OURS)},
        "taints": [one for one in spec.get("taints", []) if not one["key"].startswith(_HEALTH)],
        "closed": spec.get("unschedulable", False),
    }


def _object(key: Key, thing: Json, scenario: Scenario) -> Json:
    kept = normal.thing(thing, _REVISION)
    if key.kind in ("WorkloadMigration", "WorkloadOrder"):
        free = _FREE_STATUS | _FREE_PROGRESS if scenario.interrupted else _FREE_STATUS
        kept["status"] = normal.status(thing.get("status", {}), free)
    return kept
