"""What is asked of the objects of a scenario, answered from the objects themselves and nothing else."""

from __future__ import annotations

import json

from shiplift.agent import protocol
from shiplift.agent.protocol import Operation, Order, Outcome, Readiness
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY
from shiplift.engine import claims
from shiplift.nodes.names import CLAIMS, FINALIZER
from tests.crash.facts import OURS, Json, healthy, kind, labels, notes, owner
from tests.crash.nodes.scenarios import ROLLOUT, Scenario
from tests.crash.orders import SPACE
from tests.crash.recorder import Key, State
from tests.crash.workloads.shape import Workload

ENDED = frozenset({"Complete", "Aborted", "Stopped"})
_AT_REST = frozenset({"Failed", "Quarantined", "Skipped"})


def rollout(state: State) -> Json:
    return state.get(Key("NodeRollout", "", ROLLOUT), {})


def status(state: State) -> Json:
    return rollout(state).get("status") or {}


def records(state: State) -> list[Json]:
    return status(state).get("nodes", [])


def record(state: State, node: str) -> Json:
    return next((one for one in records(state) if one["name"] == node), {})


def in_flight(state: State) -> list[str]:
    return [one["name"] for one in records(state) if one.get("token") and one["state"] not in _AT_REST]


def node(state: State, name: str) -> Json:
    return state[Key("Node", "", name)]


def version(node: Json) -> str:
    return node["status"]["nodeInfo"]["kubeletVersion"]


def closed(node: Json) -> bool:
    return node["spec"].get("unschedulable", False)


def marked(node: Json) -> bool:
    return CORDONED_BY in notes(node)


def ready(node: Json) -> bool:
    conditions = node["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def is_control_plane(node: Json) -> bool:
    return "node-role.kubernetes.io/control-plane" in labels(node)


def order(node: Json) -> Order | None:
    return protocol.order_of(notes(node))


def readiness(node: Json) -> Readiness | None:
    return protocol.readiness_of(notes(node))


def outcome(node: Json) -> Outcome | None:
    return protocol.outcome_of(notes(node))


def at_work(node: Json) -> bool:
    """Whether its agent has claimed an order and is not through with it."""
    said = readiness(node)
    return said is not None and not said.ready


def is_prepared(node: Json) -> bool:
    """Whether it has the order to be prepared, which its agent is through with, and nothing more of ours."""
    asked, answer = order(node), outcome(node)
    if asked is None or answer is None or marked(node):
        return False
    return asked.token.operation is Operation.PREPARE and answer.token == str(asked.token)


def pods_of(state: State, workload: Workload) -> list[Json]:
    return [pod for pod in kind(state, "Pod") if owner(pod) == workload.id]


def pods_on(state: State, node: str) -> list[Json]:
    return [pod for pod in kind(state, "Pod") if pod["spec"].get("nodeName") == node]


def all_well(state: State, scenario: Scenario) -> bool:
    """Whether every workload has all its pods, healthy."""
    return all(
        len(pods := pods_of(state, one)) == one.replicas and all(map(healthy, pods))
        for one in scenario.workloads
    )


def claimed_nodes(state: State) -> set[str]:
    """The uids of control-plane nodes that a claim is open for."""
    book = state.get(Key("ConfigMap", SPACE, CLAIMS))
    return {one.target.uid for one in claims.read(notes(book))} if book else set()


def residue(state: State) -> list[str]:
    """What of ours is left: on nodes, in the book of claims, on a rollout that was aborted.

    What an agent says of itself stays on its node, and a node that is quarantined keeps our cordon. A rollout
    that has stopped is not over: the order that has prepared a node stays on it.
    """
    quarantined = {one["name"] for one in records(state) if one["state"] == "Quarantined"}
    stopped = status(state).get("phase") == "Stopped"
    nodes = [one for one in kind(state, "Node") if not (stopped and is_prepared(one))]
    found = [line for one in nodes for line in _on(one, quarantined)]
    found += [f"a claim on node {uid} is open" for uid in claimed_nodes(state)]
    if status(state).get("phase") == "Aborted" and FINALIZER in rollout(state)["metadata"].get(
        "finalizers", []
    ):
        found.append(f"NodeRollout {ROLLOUT} keeps {FINALIZER}")
    return sorted(found)


def _on(node: Json, quarantined: set[str]) -> list[str]:
    name, ours = node["metadata"]["name"], notes(node)
    left = [protocol.desired_key(software) for software in protocol.desired_versions(ours)]
    left += [key for key in (protocol.CHANGES_ALLOWED, CORDONED_BY, CORDONED_BEFORE) if key in ours]
    left += [key for key in labels(node) if key.startswith(OURS)]
    left += [one["key"] for one in node["spec"].get("taints", []) if one["key"].startswith(OURS)]
    return [f"Node {name} keeps {key}" for key in left if key != CORDONED_BY or name not in quarantined]


def told(state: State) -> str:
    """One line about where a run stands."""
    said = status(state)
    nodes = {
        one["metadata"]["name"]: [
            version(one),
            *(["closed"] if closed(one) else []),
            *(
                value
                for key, value in notes(one).items()
                if key in (protocol.CHANGES_ALLOWED, protocol.READY)
            ),
        ]
        for one in kind(state, "Node")
    }
    waiting = {one["name"]: [one["state"], one.get("message", "")] for one in records(state)}
    where = f"phase {said.get('phase')}, pass {said.get('runningPass')}, {said.get('message', '')}"
    return f"{where}; {json.dumps(waiting)}; {json.dumps(nodes)}; {residue(state)}"
