"""What is there before the operator starts: nodes whose agents have told of them, workloads, the rollout."""

from __future__ import annotations

from shiplift.agent.protocol import AGENT, current_key
from shiplift.facts import kinds
from shiplift.local.agents import Agents
from tests.crash.facts import kind, notes
from tests.crash.nodes import facts
from tests.crash.nodes.scenarios import PACE, TIMING, Scenario
from tests.crash.recorder import State
from tests.crash.stage import Stage
from tests.until import until


def build(stage: Stage, scenario: Scenario) -> None:
    nodes = stage.cluster.nodes
    nodes.add(*scenario.pools)
    nodes.wait_schedulable(*scenario.pools)
    for name in _closed_first(scenario):
        cordon(stage, name, closed=True)
    with Agents(stage.cluster.credentials(), PACE, TIMING):
        until(lambda: _told(stage.recorder.live(), scenario), 30)
    stage.create_namespaces(["shop"])
    stage.create(scenario.manifests())
    until(lambda: facts.all_well(stage.recorder.live(), scenario), 30)
    for name in set(_closed_first(scenario)) - set(scenario.by_hand):
        cordon(stage, name, closed=False)
    stage.create(scenario.ours())


def _closed_first(scenario: Scenario) -> tuple[str, ...]:
    """Beside a migration one node is empty: it is changed first."""
    return ("n-0",) if scenario.migration else scenario.by_hand


def _told(state: State, scenario: Scenario) -> bool:
    told = {AGENT, current_key("kubelet"), current_key("containerd")}
    nodes = list(kind(state, "Node"))
    return len(nodes) == len(scenario.names) and all(told <= notes(one).keys() for one in nodes)


def cordon(stage: Stage, name: str, *, closed: bool) -> None:
    """As somebody would by hand."""
    uid = stage.admin.get(kinds.NODE, name)["metadata"]["uid"]
    stage.admin.patch(kinds.NODE, name, {"spec": {"unschedulable": closed}}, uid=uid)
