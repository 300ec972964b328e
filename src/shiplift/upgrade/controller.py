"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import cast

import msgspec

from shiplift.engine import clock, contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.kube import api_servers, authors
from shiplift.kube.api_servers import ENDPOINT_SLICE, ApiServers
from shiplift.kube.grants import hook_rules
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.rbac import rule
from shiplift.kube.server_versions import KnownVersions, ServerVersions
from shiplift.kube.watch import Watch
from shiplift.upgrade.act.actor import Actor
from shiplift.upgrade.decide.decision import decide
from shiplift.upgrade.model import Conducted, View
from shiplift.upgrade.names import CLUSTER_VERSION_NAME
from shiplift.upgrade.observe import cluster_versions, config_pools
from shiplift.upgrade.observe.observer import READS, Observer, machine, told_version
from shiplift.upgrade.tell.metrics import UpgradeCollector
from shiplift.upgrade.tell.publish import Publisher

NAME = "upgrade"
KEY = "cluster"
_OBJECTS = (
    kinds.UPGRADE_CONFIG,
    kinds.NODE_ROLLOUT,
    kinds.WORKLOAD_MIGRATION,
    kinds.QUORUM_SERVICE,
    kinds.APP_TYPE,
)


class Upgrade:
    """The conductor, for one term of leading."""

    def __init__(self, context: Context) -> None:
        client = context.client
        self._changes = contested.Memory()
        self._servers = ApiServers(client)
        known = KnownVersions(context.probing, ServerVersions(client, self._servers).read, KEY)
        self._observer = Observer(
            context.store,
            known.get,
            lambda: cluster_versions.read(client),
            lambda: config_pools.read(client),
        )
        self._actor = Actor(client)
        self._publisher = Publisher(client, context.recorder)

    def observe(self, key: str, outcomes: Outcomes) -> View:
        view = self._observer.observe(outcomes)
        return msgspec.structs.replace(view, changes=dict(self._changes.changes))

    def decide(self, view: View, now: datetime) -> Conducted:
        return decide(view, now)

    def act(self, step: Step) -> Outcome:
        outcome = self._actor.act(step)
        if outcome.ok:
            self._changes.note(step, clock.now())
        self._observer.acted(step)
        return outcome

    def publish(self, key: str, decision: Conducted) -> Iterable[Barrier | Requeue]:
        return self._publisher.publish(decision)

    def let_go(self) -> None:
        self._servers.close()


def wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    """Objects of layers, and what of a node an upgrade goes by; checks look again by themselves."""
    if kind in _OBJECTS:
        return (KEY,)
    if kind != kinds.NODE:
        return ()
    return (KEY,) if _matter(old) != _matter(new) else ()


def _matter(row: Row | None) -> object:
    if row is None:
        return None
    node = cast("Node", row)
    return machine(node), told_version(node)


_VERBS = ["get", "create", "patch", "delete"]
RULES = (
    rule(kinds.GROUP, ["upgradeconfigs"], ["get", "patch"]),
    rule(kinds.GROUP, ["upgradeconfigs/status"], ["patch"]),
    rule(kinds.GROUP, ["noderollouts", "workloadmigrations"], _VERBS),
    rule(kinds.GROUP, ["quorumservices", "apptypes"], ["get", "patch"]),
    rule(kinds.MACHINE_CONFIG_POOL.group, [kinds.MACHINE_CONFIG_POOL.plural], ["list"]),
    rule(ENDPOINT_SLICE.group, [ENDPOINT_SLICE.plural], ["get"], [api_servers.NAME]),
    rule(
        kinds.CLUSTER_VERSION.group, [kinds.CLUSTER_VERSION.plural], ["get", "patch"], [CLUSTER_VERSION_NAME]
    ),
)
"""What is written may be read: to change it from what it is, or to see what became of a write whose answer
was lost."""

PART = LayerPart(
    NAME,
    tuple(map(Watch, READS)),
    wakes,
    Upgrade,
    RULES,
    manifests=(*authors.approvals(), *authors.turn_hooks()),
    granted_rules=tuple(hook_rules()),
    collector=UpgradeCollector,
    undone_without=READS[1:],
    of_others=(
        kinds.NODE_ROLLOUT,
        kinds.WORKLOAD_MIGRATION,
        kinds.OPERATOR_VERSION,
        kinds.QUORUM_SERVICE,
        kinds.APP_TYPE,
    ),
    written_by_people=(kinds.UPGRADE_CONFIG,),
)
