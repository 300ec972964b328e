"""Gathers what a decision is made from. Reads only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, cast

from shiplift.agent.protocol import AGENT, ProtocolError, current_versions
from shiplift.api.marks import SKIP_ROLLOUT
from shiplift.api.nodes import NodeRollout
from shiplift.api.operators import OperatorVersion
from shiplift.api.upgrade import UpgradeConfig, UpgradeType
from shiplift.api.workloads import WorkloadMigration
from shiplift.engine.api_servers import API_SERVER, ASKED, api_servers
from shiplift.engine.step import Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.nodes import CONTROL_PLANE, Node, is_control_plane
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, StatefulSet
from shiplift.kube.kept import Kept
from shiplift.kube.store import Snapshot
from shiplift.upgrade.model import ClusterVersion, ConfigPool, Machine, Unreadable, View
from shiplift.upgrade.names import CLUSTER_VERSION_NAME, MIGRATION, POOLS, UPGRADE
from shiplift.upgrade.observe import later
from shiplift.upgrade.observe.budgets import never_allowed
from shiplift.upgrade.steps import SetChannel, SetUpdate

READS = (
    kinds.UPGRADE_CONFIG,
    kinds.NODE_ROLLOUT,
    kinds.WORKLOAD_MIGRATION,
    kinds.NODE,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.OPERATOR_VERSION,
    kinds.QUORUM_SERVICE,
    kinds.APP_TYPE,
)
_CONDUCTED = (*READS[:4], kinds.QUORUM_SERVICE, kinds.APP_TYPE)
"""What a running upgrade goes by."""


class Snapshots(Protocol):
    """What is asked of the store."""

    def snapshot(self, *of: Kind) -> Snapshot: ...


class Observer:
    """Makes views; from one thread."""

    def __init__(
        self,
        store: Snapshots,
        versions: Callable[[], Mapping[str, str]],
        cluster_version: Callable[[], ClusterVersion | str] = lambda: "nobody asks",
        config_pools: Callable[[], tuple[ConfigPool, ...] | str] = lambda: "nobody asks",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._versions = versions
        self._cluster_version = Kept(cluster_version, 2.0, monotonic)
        self._config_pools = Kept(config_pools, 2.0, monotonic)
        self._never = Kept(self._never_allowed, 5.0, monotonic)

    def observe(self, outcomes: Outcomes) -> View:
        """The cluster at this moment."""
        snapshot = self._store.snapshot(*READS)
        upgrade = _upgrade(snapshot)
        rows = tuple(snapshot.all(Node)) if upgrade is not None else ()
        openshift, pools = self._openshift(upgrade), self._pools(upgrade)
        starts = upgrade is not None and upgrade.status.target_version is None
        return View(
            upgrade=upgrade,
            machines=tuple(sorted(map(machine, rows), key=lambda one: one.name)),
            api_servers=self._api_servers(upgrade, rows, openshift),
            rollouts=tuple(cast("NodeRollout", row.object) for row in snapshot.customs(kinds.NODE_ROLLOUT)),
            migration=_migration(snapshot),
            cluster_version=openshift if isinstance(openshift, ClusterVersion) else None,
            config_pools=pools if isinstance(pools, tuple) else (),
            trouble=next((one for one in (openshift, pools) if isinstance(one, str)), ""),
            services=later.services(snapshot),
            apps=later.apps(snapshot),
            operators=_operators(snapshot) if starts else (),
            never_allowed=self._never.get() if starts else (),
            stale=snapshot.behind(outcomes.unsettled, *(READS if starts else _CONDUCTED)),
            unreadable=_unreadable(snapshot),
            outcomes=outcomes,
        )

    def acted(self, step: Step) -> None:
        """What a step has changed that has no row is read again; from any thread."""
        if isinstance(step, SetChannel | SetUpdate):
            self._cluster_version.void()

    def _openshift(self, upgrade: UpgradeConfig | None) -> ClusterVersion | str | None:
        """What ClusterVersion says, or why it cannot be read; None where nobody asks."""
        wanted = upgrade is not None and upgrade.spec.type is UpgradeType.OPENSHIFT
        return self._cluster_version.get() if wanted else None

    def _pools(self, upgrade: UpgradeConfig | None) -> tuple[ConfigPool, ...] | str:
        wanted = upgrade is not None and upgrade.spec.type is UpgradeType.OPENSHIFT
        return self._config_pools.get() if wanted else ()

    def _api_servers(
        self, upgrade: UpgradeConfig | None, rows: Iterable[Node], openshift: ClusterVersion | str | None
    ) -> dict[str, str]:
        """Where somebody else changes them no agent tells of them: they do so themselves. Of OpenShift the
        release counts."""
        if upgrade is None:
            return {}
        if openshift is not None:
            reached = openshift.reached if isinstance(openshift, ClusterVersion) else ""
            return {CLUSTER_VERSION_NAME: reached}
        if upgrade.spec.type is UpgradeType.EXTERNAL:
            return dict(self._versions())
        return api_servers(_told(rows), lambda: self._versions().get(ASKED, ""))

    def _never_allowed(self) -> tuple[str, ...]:
        snapshot = self._store.snapshot(*READS)
        owners = (*snapshot.all(Deployment), *snapshot.all(StatefulSet))
        return never_allowed(snapshot.all(PodDisruptionBudget), owners)


def machine(row: Node) -> Machine:
    return Machine(
        row.name,
        row.kubelet_version,
        row.ready,
        is_control_plane(row),
        row.annotations.get(SKIP_ROLLOUT) == "true",
        next((row.labels[key] for key in POOLS if key in row.labels), ""),
        AGENT in row.annotations,
        is_control_plane(row) and CONTROL_PLANE[0] not in row.labels,
    )


def told_version(row: Node) -> str:
    """What the agent of a control-plane node says of its API server; empty where it says nothing."""
    try:
        return current_versions(row.annotations).get(API_SERVER, "")
    except ProtocolError:
        return ""


def _told(rows: Iterable[Node]) -> dict[str, str]:
    return {row.name: told_version(row) for row in rows if is_control_plane(row)}


def _upgrade(snapshot: Snapshot) -> UpgradeConfig | None:
    row = snapshot.custom(kinds.UPGRADE_CONFIG, UPGRADE)
    return None if row is None else cast("UpgradeConfig", row.object)


def _migration(snapshot: Snapshot) -> WorkloadMigration | None:
    row = snapshot.custom(kinds.WORKLOAD_MIGRATION, MIGRATION)
    return None if row is None else cast("WorkloadMigration", row.object)


def _operators(snapshot: Snapshot) -> tuple[OperatorVersion, ...]:
    """Those that stay."""
    rows = [one for one in snapshot.customs(kinds.OPERATOR_VERSION) if not one.deleting]
    return tuple(one.object for one in sorted(rows, key=lambda one: (one.namespace, one.name)))


def _unreadable(snapshot: Snapshot) -> tuple[Unreadable, ...]:
    return tuple(
        Unreadable(kind, name, why) for kind in READS for name, why in snapshot.undecodable(kind).items()
    )
