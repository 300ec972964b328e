"""The plan on the old nodes of a rig, and as many empty new nodes: what every contender begins with."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable

import yaml

from benchmarks.migrate import manifests
from benchmarks.migrate.plan import Size, Workload, plan
from benchmarks.progress import say
from benchmarks.rig import cluster as rigs
from benchmarks.rig.cluster import Rig, wait_until_none
from shiplift.facts import kinds
from shiplift.kube.client import Client

LAYER = "workloads"


class Scene:
    """The rig, and what is on it."""

    def __init__(self, rig: Rig, size: Size) -> None:
        self.rig, self.size = rig, size
        self.workloads = plan(size)
        self.old = manifests.old_nodes(size.nodes).names()
        self.new = manifests.new_nodes(size.nodes).names()

    @property
    def slots(self) -> int:
        """Free slots on the new nodes at the start."""
        return len(self.new) * manifests.SLOTS_PER_NODE

    def fill(self) -> None:
        """All workloads Ready on the old nodes; then the new nodes join, and that is remembered."""
        rig = self.rig
        with rig.cluster.client() as client:
            rig.make(client, manifests.namespaces(self.workloads))
            rig.make(client, map(manifests.workload, self.workloads))
            rig.make(client, filter(None, map(manifests.budget, self.workloads)))
            rig.admit_guest()
            wait_until_none(lambda: _unready(client, self.workloads), "pods to be ready")
            say("the new nodes join")
            new = manifests.new_nodes(self.size.nodes)
            rig.cluster.nodes.add(new)
            rig.cluster.nodes.wait_schedulable(new)
            rig.install(LAYER)
            rig.apply(yaml.safe_dump_all(manifests.orders(self.workloads)).encode())
            self._wait_settled(client)
        rig.remember()

    def put_back(self) -> None:
        self.rig.put_back()
        with self.rig.cluster.client() as client:
            self._wait_settled(client)

    def _wait_settled(self, client: Client) -> None:
        wait_until_none(lambda: _unready(client, self.workloads), "pods to be ready")
        wait_until_none(lambda: _unsettled_budgets(client), "budgets to be reckoned")


@contextlib.contextmanager
def built(size: Size) -> Generator[Scene]:
    """The scene, ready for its first contender."""
    with rigs.built("migrate", [manifests.old_nodes(size.nodes)]) as rig:
        scene = Scene(rig, size)
        say(f"{size.workloads} workloads with {size.pods} pods start")
        scene.fill()
        yield scene


def _unready(client: Client, workloads: Iterable[Workload]) -> int:
    """Pods that are missing or not Ready, as their workloads say."""
    wanted = {(one.kind.value, one.namespace, one.name): one.replicas for one in workloads}
    for kind in (kinds.DEPLOYMENT, kinds.STATEFUL_SET):
        for found in client.list(kind):
            about, status = found["metadata"], found.get("status", {})
            key = (kind.kind, about["namespace"], about["name"])
            if key in wanted:
                wanted[key] -= status.get("readyReplicas", 0)
    return sum(wanted.values())


def _unsettled_budgets(client: Client) -> int:
    """Budgets that do not allow yet what they will allow."""
    found = client.list(kinds.POD_DISRUPTION_BUDGET)
    return sum(one.get("status", {}).get("disruptionsAllowed", 0) == 0 for one in found)
