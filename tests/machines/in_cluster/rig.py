"""A real cluster with kwok and a garbage collector, and the operator with the layer `machines` on it."""

from __future__ import annotations

import contextlib
from typing import Any

from shiplift.api.marks import POOL_LABEL
from shiplift.facts.kinds import EVENT, MACHINE, MACHINE_POOL, NODE, Kind
from shiplift.kube import fence
from shiplift.kube.errors import NotFound
from shiplift.local.cluster import Cluster
from shiplift.machines.controller import PART
from tests.machines.in_cluster.world import spec
from tests.operated import SPACE, Operated
from tests.until import until

Json = dict[str, Any]


class Rig(Operated):
    """The cluster, who asks for pools, and who looks."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, (PART,))

    # --- what people do ---

    def pool(self, name: str, wanted: Json | int) -> Json:
        body = {"metadata": {"name": name}, "spec": spec(wanted) if isinstance(wanted, int) else wanted}
        return self.client.create(MACHINE_POOL, body).object

    def edit(self, name: str, **change: Any) -> None:
        uid = self.client.get(MACHINE_POOL, name)["metadata"]["uid"]
        self.client.patch(MACHINE_POOL, name, {"spec": change}, uid=uid)

    def remove(self, kind: Kind, name: str) -> None:
        with contextlib.suppress(NotFound):
            self.client.delete(kind, name, uid=self.client.get(kind, name)["metadata"]["uid"])

    # --- what is seen ---

    def find(self, kind: Kind, name: str) -> Json | None:
        with contextlib.suppress(NotFound):
            return self.client.get(kind, name)
        return None

    def status(self, pool: str) -> Json:
        return (self.find(MACHINE_POOL, pool) or {}).get("status") or {}

    def said(self, pool: str, about: str = "Ready") -> tuple[str, str]:
        """Status and reason of a condition, of the spec as it is now."""
        found = self.find(MACHINE_POOL, pool) or {"metadata": {}}
        for one in (found.get("status") or {}).get("conditions", ()):
            if one["type"] == about and one["observedGeneration"] == found["metadata"]["generation"]:
                return one["status"], one["reason"]
        return "", ""

    def says(self, pool: str, reason: str, about: str = "Ready") -> str:
        """Until a condition has that reason; what the pool says then."""
        until(lambda: self.said(pool, about)[1] == reason, 90)
        return self.status(pool).get("message", "")

    def complete(self, pool: str, ready: int) -> None:
        """Until so many are ready and nothing is left to do."""
        until(
            lambda: (
                self.said(pool) == ("True", "Complete")
                and self.status(pool)["ready"]["summary"] == f"{ready}/{ready}"
            ),
            120,
        )

    def names(self, kind: Kind, pool: str) -> list[str]:
        found = self.client.list(kind, label_selector=f"{POOL_LABEL}={pool}")
        return sorted(one["metadata"]["name"] for one in found)

    def uids(self, kind: Kind, pool: str) -> dict[str, str]:
        found = self.client.list(kind, label_selector=f"{POOL_LABEL}={pool}")
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}

    def epoch(self) -> int:
        """The epoch of who leads, once somebody does."""

        def raised() -> str:
            home = self.client.get(fence.HOME, "shiplift-fence", SPACE)
            return (home["metadata"].get("annotations") or {}).get(fence.EPOCH, "")

        return int(until(raised))

    def events(self, pool: str) -> set[str]:
        return {
            one["reason"]
            for one in self.client.list(EVENT)
            if (one.get("regarding") or {}).get("name") == pool
        }

    def clear(self) -> None:
        """As it was before the first test."""
        self.stop()
        for kind in (MACHINE_POOL, MACHINE, NODE):
            for one in list(self.client.list(kind)):
                self.remove(kind, one["metadata"]["name"])
        until(lambda: not any(list(self.client.list(kind)) for kind in (MACHINE_POOL, MACHINE, NODE)))
