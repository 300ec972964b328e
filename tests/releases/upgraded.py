"""A cluster in which another release of shiplift was at work before this one; and eyes on what happens."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, Self

import yaml

from shiplift.api import crd
from shiplift.facts import kinds
from shiplift.kube.credentials import load as load_credentials
from shiplift.local.cluster import Cluster
from shiplift.operator import install
from shiplift.operator.layers import LAYERS
from tests.crash.recorder import Recorder
from tests.crash.workloads.facts import node_of
from tests.crash.workloads.shape import OLD_POOL
from tests.crash.workloads.suite import SUITE
from tests.releases import loading
from tests.releases.application import WORKLOADS, Json
from tests.releases.record import kubectl_apply
from tests.releases.situation import SPACE, of_kind
from tests.until import until
from tests.workloads.observer import Observer
from tests.workloads.rig import Rig, Scene

main = importlib.import_module("shiplift.cli.main")
_MOVED = (kinds.DEPLOYMENT, kinds.STATEFUL_SET)


def manifests() -> list[Json]:
    """All that this release has applied."""
    return [*crd.manifests(), *install.manifests(SPACE, LAYERS.values(), templates=True)]


def apply_this_release(cluster: Cluster) -> str:
    """Over what is there, in one `kubectl apply`; what it said."""
    return kubectl_apply(cluster, yaml.safe_dump_all(manifests()))


class Migration:
    """The recorded application in a cluster with this release, whose operator does not run yet."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.rig = Rig(cluster)
        self.client = self.rig.client
        self.scene = Scene(self.rig)
        self._recorder = Recorder(load_credentials(cluster.kubeconfig), self.client, SUITE.watched)
        self.observer = Observer(self._recorder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._recorder.close()
        self.rig.close()

    # --- doing ---

    def command(self, *words: str) -> None:
        """A command of shiplift, as an administrator."""
        assert main.run([*words, "--kubeconfig", str(self.cluster.kubeconfig)]) == 0

    def finish(self) -> None:
        """Everybody moves, the old nodes go, and everything of ours does."""
        until(lambda: self.scene.status().get("progress", {}).get("done") == len(WORKLOADS), 120)
        self.cluster.nodes.remove(*OLD_POOL.names())
        self.scene.wait_state("NoUpgrade")
        self.scene.wait_clean()

    # --- looking ---

    def pods(self) -> set[str]:
        """The uids of the pods that are there now."""
        return {one["metadata"]["uid"] for one in self.client.list(kinds.POD)}

    def generations(self) -> dict[str, int]:
        """How often each workload was changed; a rollout begins with a change."""
        return _generations(one for kind in _MOVED for one in self.client.list(kind))

    def budgets(self) -> dict[str, Json]:
        """Every PodDisruptionBudget, as its owner sees it."""
        return {_id(one): _limits(one) for one in self.client.list(kinds.POD_DISRUPTION_BUDGET)}

    def ledgers(self) -> dict[str, str]:
        """By namespace and owner, what is on record."""
        return {
            f"{one['metadata']['namespace']}/{owner}": text
            for one in self.client.list(kinds.WORKLOAD_PLACEMENT)
            for owner, text in one["spec"].get("ledger", {}).items()
        }

    def replicas(self) -> dict[str, int]:
        return {_id(one): one["spec"]["replicas"] for kind in _MOVED for one in self.client.list(kind)}


class Upgraded(Migration):
    """A recorded situation of another release, and then this one over it, if it is applied already."""

    def __init__(self, cluster: Cluster, release: str, situation: str, applied: bool = True) -> None:
        self.recorded = loading.situation(cluster, release, situation)
        if applied:
            apply_this_release(cluster)
        super().__init__(cluster)

    def hand_over(self) -> None:
        """As if the other release's operator had been stopped, and not killed: nobody waits for its Lease."""
        free = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
        self.scene.change(kinds.LEASE, SPACE, "shiplift", free)

    def recorded_pods(self, pool: str) -> set[str]:
        """The uids of the pods that were on nodes of that pool before the upgrade."""
        return {
            one["metadata"]["uid"]
            for one in of_kind(self.recorded, kinds.POD)
            if node_of(one).rpartition("-")[0] == pool
        }

    def recorded_generations(self) -> dict[str, int]:
        return _generations(one for kind in _MOVED for one in of_kind(self.recorded, kind))


BUDGETS = {one.id: one.budget for one in WORKLOADS if one.budget}
"""As the user wrote them."""
REPLICAS = {one.id: one.replicas for one in WORKLOADS}
ORDER = {one.id: one.after for one in WORKLOADS if one.after}


def _id(thing: Json) -> str:
    return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"


def _generations(things: Iterable[Json]) -> dict[str, int]:
    return {_id(one): one["metadata"]["generation"] for one in things}


def _limits(budget: Json) -> dict[str, Any]:
    return {key: value for key, value in budget["spec"].items() if key != "selector"}
