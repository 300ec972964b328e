"""What is there before the operator starts: nodes whose agents have told of them, one of them empty,
workloads on the others, and the UpgradeConfig."""

from __future__ import annotations

from shiplift.agent.protocol import AGENT, current_key
from shiplift.local.agents import Agents
from tests.crash.facts import kind, notes
from tests.crash.nodes.building import cordon
from tests.crash.nodes.scenarios import PACE, TIMING
from tests.crash.recorder import State
from tests.crash.stage import Stage
from tests.crash.upgrade import facts
from tests.crash.upgrade.scenarios import Scenario
from tests.until import until

EMPTY = ("n-0", "p-0")
"""Workers that take no pods before the upgrade: one node has to be empty, and control planes have none."""


def build(stage: Stage, scenario: Scenario) -> None:
    nodes = stage.cluster.nodes
    nodes.add(*scenario.pools)
    nodes.wait_schedulable(*scenario.pools)
    for name in EMPTY:
        cordon(stage, name, closed=True)
    with Agents(stage.cluster.credentials(), PACE, TIMING):
        until(lambda: _told(stage.recorder.live(), scenario), 30)
    stage.create_namespaces(["shop"])
    stage.create(scenario.manifests())
    until(lambda: facts.all_well(stage.recorder.live(), scenario), 30)
    cordon(stage, EMPTY[0], closed=False)
    stage.create(scenario.ours())


def _told(state: State, scenario: Scenario) -> bool:
    told = {AGENT, current_key("kubelet"), current_key("containerd")}
    nodes = list(kind(state, "Node"))
    return len(nodes) == len(scenario.names) and all(told <= notes(one).keys() for one in nodes)
