"""A real cluster on which an operator runs all layers, with simulated agents: nodes, what runs on them, and
one UpgradeConfig."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shiplift.api.marks import UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID
from shiplift.facts import kinds
from shiplift.kube.errors import Conflict, NotFound
from shiplift.upgrade.names import MIGRATION, UPGRADE
from tests.nodes.rig import Rig, Scene
from tests.operated import NEW
from tests.until import until

Json = dict[str, Any]
PLANE = {"node-role.kubernetes.io/control-plane": ""}
QUICK = {"workloads": {"waitForNodes": {"settle": "0s"}}}
"""What is not waited for where nodes change in a second."""


class Upgrading(Scene):
    """One test's cluster, and its upgrade; all of it goes when it ends."""

    def cluster(self, workers: int = 3, planes: int = 1) -> tuple[list[str], list[str], str]:
        """Control-plane nodes, workers of which the first is empty, and a namespace with two workloads in
        order."""
        nodes, space = self.nodes(workers), self.namespace()
        self.change(kinds.NODE, nodes[0], {"spec": {"unschedulable": True}})
        self.deployment(space, "db", 2)
        self.deployment(space, "web", 2)
        self.change(kinds.NODE, nodes[0], {"spec": {"unschedulable": False}})
        self.depend(space, "web", "db")
        return self.nodes(planes, "p", labels=PLANE), nodes, space

    def depend(self, space: str, name: str, on: str) -> None:
        one = {"kind": "Deployment", "name": name, "dependsOn": [{"kind": "Deployment", "name": on}]}
        body = {"metadata": {"name": "order"}, "spec": {"workloads": [one]}}
        self.client.create(kinds.WORKLOAD_ORDER, body, space)

    def take(self, names: list[str]) -> None:
        """Nodes go, as a cloud takes them."""
        self.rig.cluster.nodes.remove(*names)
        self._pools = [one for one in self._pools if one.names() != names]

    def ask(self, **spec: Any) -> None:
        wanted = {"desired": {"version": NEW}, "strategy": QUICK} | spec
        self.client.create(kinds.UPGRADE_CONFIG, {"metadata": {"name": UPGRADE}, "spec": wanted})

    def edit(self, **spec: Any) -> None:
        self.change(kinds.UPGRADE_CONFIG, UPGRADE, {"spec": spec})

    @property
    def told(self) -> Json:
        return self.client.get(kinds.UPGRADE_CONFIG, UPGRADE).get("status") or {}

    def come_to(self, seconds: float = 60, **fields: str) -> Json:
        """Waits until the status says that."""

        def so() -> Json | None:
            told = self.told
            return told if all(told.get(key) == value for key, value in fields.items()) else None

        try:
            return until(so, seconds)
        except AssertionError:
            raise AssertionError(f"not {fields}: {self.told}") from None

    def rollouts(self) -> dict[str, Json]:
        return {one["metadata"]["name"]: one for one in self.client.list(kinds.NODE_ROLLOUT)}

    def migration(self) -> Json | None:
        try:
            return self.client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)
        except NotFound:
            return None

    def traces(self) -> list[str]:
        """What of an upgrade is in the cluster."""
        found = [f"NodeRollout {name}" for name in self.rollouts()]
        about = (self.migration() or {"metadata": {}})["metadata"]
        marks = {**(about.get("annotations") or {}), **(about.get("labels") or {})}
        found += [key for key in (UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID) if key in marks]
        return found + self.residue()

    def close(self) -> None:
        self.rig.stop()
        for kind in (kinds.APP_TYPE, kinds.QUORUM_SERVICE):
            for one in list(self.client.list(kind)):
                # nobody is there any more who would take it off, and its namespace has to go
                about = one["metadata"]
                free = {"metadata": {"finalizers": None}}
                self.client.patch(kind, about["name"], free, about["namespace"], uid=about["uid"])
                with contextlib.suppress(NotFound):  # whoever deletes namespaces may be slow, or not there
                    self.client.delete(kind, about["name"], about["namespace"], uid=about["uid"])
        for kind, name in ((kinds.UPGRADE_CONFIG, UPGRADE), (kinds.WORKLOAD_MIGRATION, MIGRATION)):
            with contextlib.suppress(NotFound, Conflict):
                uid = self.client.get(kind, name)["metadata"]["uid"]
                self.client.patch(kind, name, {"metadata": {"finalizers": None}}, uid=uid)
                self.client.delete(kind, name, uid=uid)
        super().close()


@contextlib.contextmanager
def upgrading(rig: Rig) -> Iterator[Upgrading]:
    made = Upgrading(rig)
    try:
        yield made
    finally:
        made.close()
