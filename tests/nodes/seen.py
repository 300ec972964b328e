"""A cluster in memory as the observer of this layer asks for it, and what the API server itself answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from shiplift.api.base import ObjectMeta
from shiplift.api.nodes import NodeRollout, NodeRolloutSpec, NodeRolloutStatus, NodeState, NodeStatus
from shiplift.api.placements import Turn, WorkloadPlacement, WorkloadPlacementSpec
from shiplift.api.workloads import MigrationState, Mode, WorkloadMigration, WorkloadMigrationStatus
from shiplift.engine.claims import Claims
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.kube.errors import Unreachable
from shiplift.nodes.memory import JobName
from shiplift.nodes.model import Hooked
from shiplift.nodes.observe.asking import Asking
from shiplift.nodes.observe.observer import READS, Observer
from tests.drain.pods import a_pod
from tests.model.world import NEW, World

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Seen(World):
    """The cluster; `asked` counts the questions to the API server itself."""

    def __init__(self) -> None:
        super().__init__((*READS, kinds.NAMESPACE))
        self.time = 1000.0
        self.asked: list[str] = []
        self.jobs: dict[JobName, Hooked] = {}
        self.answers = True
        """Whether the API server itself can be asked for its version."""
        self.claims: Claims | None = ()
        self.read_claims: Callable[[], Claims | None] = lambda: self.claims
        self.old: tuple[Kind, ...] = ()
        self.distrust, self.handing_over = "", False
        self.clock: Callable[[], datetime] = lambda: AT
        self.runs_in("")

    def runs_in(self, namespace: str, own_pod: str = "own") -> None:
        """Where the operator runs, from its beginning on."""
        asking = Asking(
            self._version,
            self._claims,
            self._job,
            lambda _: True,
            lambda: own_pod,
            lambda: True,
            lambda: self.handing_over,
            lambda: self.distrust,
        )
        self.observer = Observer(self, asking, self._clock, lambda: self.time, namespace)
        self.listeners[:] = [self.observer.heard]

    def _clock(self) -> datetime:
        return self.clock()

    def stale(self, *of: Kind) -> tuple[Kind, ...]:
        return tuple(kind for kind in self.old if kind in of)

    def roll(
        self, *records: NodeStatus, name: str = "r", status: dict[str, Any] | None = None, **spec: Any
    ) -> None:
        """A NodeRollout with these records."""
        made = NodeRollout(
            metadata=ObjectMeta(name=name, uid=f"uid-{name}"),
            spec=NodeRolloutSpec(**{"version": NEW} | spec),
            status=NodeRolloutStatus(nodes=records, **status or {}),
        )
        self.put_custom(kinds.NODE_ROLLOUT, name, "", made, uid=f"uid-{name}")

    def stop_rolling(self, name: str = "r") -> None:
        for row in self.customs(kinds.NODE_ROLLOUT):
            if row.name == name:
                self.remove(row, kinds.NODE_ROLLOUT)

    def migrate(self, turns: dict[str, Turn], mode: Mode = Mode.INJECT, **status: Any) -> None:
        """Workloads of the namespace `shop` are being moved."""
        told = WorkloadMigrationStatus(state=MigrationState.UPGRADE, target=NEW, mode=mode, **status)
        self.put_custom(kinds.WORKLOAD_MIGRATION, "cluster", "", WorkloadMigration(status=told))
        placed = WorkloadPlacement(spec=WorkloadPlacementSpec(target=NEW, turns=turns))
        self.put_custom(kinds.WORKLOAD_PLACEMENT, "shiplift", "shop", placed)

    def annotate(self, node: Node, values: dict[str, str]) -> Node:
        """The node with these annotations, and no others."""
        return self.put(msgspec.structs.replace(self.latest(node), annotations=Labels(values)))

    def latest(self, node: Node) -> Node:
        return self.named_node(node.name)

    def named_node(self, name: str) -> Node:
        found = self.named(Node, name, "")
        assert found is not None
        return found

    def all_pods(self) -> list[Pod]:
        return self.all(Pod)

    def pod(self, name: str, on: str, **given: Any) -> Pod:
        return self.put(a_pod(name, node=on, **given))

    def _version(self) -> str:
        self.asked.append("version")
        if not self.answers:
            raise Unreachable("nobody answers")
        return NEW

    def _claims(self) -> Claims | None:
        self.asked.append("claims")
        return self.read_claims()

    def _job(self, name: JobName) -> Hooked | None:
        self.asked.append(f"job {name[1]}")
        return self.jobs.get(name)


def record(node: Node, state: NodeState = NodeState.DRAINING, **given: Any) -> NodeStatus:
    known = {"name": node.name, "uid": node.uid, "last_transition_time": AT}
    return NodeStatus(state=state, **known | given)
