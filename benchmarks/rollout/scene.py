"""The plan on the nodes of a rig, with the agents of all nodes: what every contender begins with."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from benchmarks.progress import say
from benchmarks.rig import cluster as rigs
from benchmarks.rig.cluster import Rig, wait_until_none
from benchmarks.rollout import agents, manifests
from benchmarks.rollout.plan import Size, plan
from shiplift.agent.protocol import AGENT
from shiplift.facts import kinds
from shiplift.kube.client import Client

LAYER = "nodes"
_ROOMY = {"GOGC": "800"}
"""The control plane's programs tidy their memory seldom: a fifth of their CPU on two cores, and what is
measured is not theirs."""


class Scene:
    """The rig, and what is on it."""

    def __init__(self, rig: Rig, size: Size) -> None:
        self.rig, self.size = rig, size
        self.workloads = plan(size)
        self.nodes = manifests.pool(size).names()

    def fill(self) -> None:
        """All workloads Ready, all agents heard of; that is remembered."""
        rig, times = self.rig, self.size.times
        with rig.cluster.client() as client:
            rig.make(client, manifests.namespaces(self.workloads))
            rig.make(client, (manifests.workload(one, times) for one in self.workloads))
            rig.make(client, filter(None, map(manifests.budget, self.workloads)))
            rig.admit_guest()
            rig.install(LAYER)
            wait_until_none(lambda: self._unready(client), "pods to be ready")
            with self.agents():
                self._wait_settled(client)
        rig.remember()

    def put_back(self) -> None:
        self.rig.put_back()
        with self.rig.cluster.client() as client:
            self._wait_settled(client)

    @contextlib.contextmanager
    def agents(self) -> Generator[None]:
        with agents.played(self.rig.cluster.kubeconfig, self.size.times):
            yield

    def _wait_settled(self, client: Client) -> None:
        wait_until_none(lambda: self._unready(client), "pods to be ready")
        wait_until_none(lambda: _unsettled_budgets(client), "budgets to be reckoned")
        wait_until_none(lambda: _without_agent(client), "agents to be heard of")

    def _unready(self, client: Client) -> int:
        """Pods that are missing or not Ready, as their workloads say."""
        ready = sum(one.get("status", {}).get("readyReplicas", 0) for one in client.list(kinds.DEPLOYMENT))
        return self.size.pods - ready


@contextlib.contextmanager
def built(size: Size) -> Generator[Scene]:
    """The scene, ready for its first contender."""
    with rigs.built("rollout", [manifests.pool(size)], _ROOMY) as rig:
        scene = Scene(rig, size)
        say(f"{size.nodes} nodes: {len(scene.workloads)} workloads with {size.pods} pods start")
        scene.fill()
        yield scene


def _unsettled_budgets(client: Client) -> int:
    """Budgets that do not allow yet what they will allow."""
    found = client.list(kinds.POD_DISRUPTION_BUDGET)
    return sum(one.get("status", {}).get("disruptionsAllowed", 0) == 0 for one in found)


def _without_agent(client: Client) -> int:
    return sum(AGENT not in one["metadata"].get("annotations", {}) for one in client.list(kinds.NODE))
