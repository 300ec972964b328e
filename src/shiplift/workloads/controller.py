"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime

from shiplift.engine import clock
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube import api_servers, policies
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.rbac import rule
from shiplift.kube.rights import Rights
from shiplift.kube.unsettled import is_there
from shiplift.kube.watch import Watch
from shiplift.workloads import admission
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.freshness import DISPENSABLE
from shiplift.workloads.memory import Evictions
from shiplift.workloads.model import Migrating, View
from shiplift.workloads.names import MIGRATION, PODS_POLICY
from shiplift.workloads.observe.observer import READS, Observer
from shiplift.workloads.tell.metrics import MigrationCollector
from shiplift.workloads.tell.publish import Publisher

NAME = "workloads"
KEY = "cluster"


class Workloads:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        evictions: Evictions = context.kept.setdefault("evictions", Evictions())
        client = context.client
        self._observer = Observer(
            context.store,
            lambda: policies.installed(client, PODS_POLICY),
            evictions,
            missing_rights=Rights(client, TEMPLATE_RULES).missing,
            stays=lambda pod: is_there(client, kinds.POD, pod),
            succession=context.succession,
        )
        seen = self._observer
        self._actor = Actor(client, seen.in_force, seen.changes, seen.evictions, context.succession)
        self._publisher = Publisher(client, context.recorder, seen.evictions)

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        self._observer.heard(kind, old, new)

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return self._observer.observe(outcomes)

    def decide(self, view: View, now: datetime) -> Migrating:
        return decide(view, now)

    def act(self, step: Step) -> Outcome:
        return self._actor.act(step)

    def publish(self, key: str, decision: Migrating) -> Iterable[Barrier | Requeue]:
        return self._publisher.publish(decision)

    def close(self) -> None:
        """What is counted and no status tells yet is told, so that the next leader counts on."""
        if self._observer.evictions.untold():
            self._publisher.tell_evictions(decide(self._observer.observe(Outcomes()), clock.now()))


def wakes(_kind: Kind, _old: Row | None, _new: Row | None) -> Iterable[Hashable]:
    """Everything is decided together."""
    return (KEY,)


RULES = (
    rule("", ["nodes"], ["get", "patch"]),
    rule("", ["pods"], ["get", "patch", "delete"]),
    rule("", ["pods/eviction"], ["create"]),
    rule("apps", ["deployments/scale"], ["get", "patch"]),
    rule("autoscaling", ["horizontalpodautoscalers"], ["get", "patch"]),
    rule("policy", ["poddisruptionbudgets"], ["get", "create", "patch", "delete"]),
    rule("policy", ["poddisruptionbudgets/status"], ["patch"]),
    rule(kinds.GROUP, ["workloadplacements"], ["get", "create", "patch", "delete"]),
    rule("discovery.k8s.io", ["endpointslices"], ["get"], [api_servers.NAME]),
    rule(kinds.GROUP, ["workloadmigrations", "workloadorders"], ["get"]),
    rule(kinds.GROUP, ["workloadmigrations/status", "workloadorders/status"], ["patch"]),
    rule(kinds.GROUP, ["workloadmigrations"], ["patch"], [MIGRATION]),
    *policies.rules(PODS_POLICY),
)
"""What is written may be read: to change it from what it is, or to see what became of a write whose answer
was lost."""
TEMPLATE_RULES = (rule("apps", ["deployments", "statefulsets"], ["get", "patch"]),)
"""Mode Template's: to give a pod template our toleration."""

PART = LayerPart(
    NAME,
    tuple(map(Watch, READS)),
    wakes,
    Workloads,
    RULES,
    TEMPLATE_RULES,
    manifests=tuple(admission.manifests()),
    without_manifests="mode Inject needs them, in Kubernetes 1.36 and newer;"
    " mode Template moves workloads without them",
    collector=MigrationCollector,
    undone_without=DISPENSABLE,
    written_by_people=(kinds.WORKLOAD_MIGRATION, kinds.WORKLOAD_ORDER),
)
