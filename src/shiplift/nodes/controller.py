"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta

from msgspec import structs

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue, earliest, requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube import authors, node_trust
from shiplift.kube.claims import ClaimBook
from shiplift.kube.grants import hook_rules
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.rbac import rule
from shiplift.kube.watch import Watch
from shiplift.nodes.act.actor import Actor
from shiplift.nodes.act.control_plane import ControlPlane
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.memory import Jobs
from shiplift.nodes.model import HookState, Rolling, View
from shiplift.nodes.names import CLAIMS, CONTROLLERS, CONTROLLERS_SPACE, NODE_LEASES
from shiplift.nodes.observe.asking import asking
from shiplift.nodes.observe.observer import READS, Observer
from shiplift.nodes.tell.metrics import RolloutCollector
from shiplift.nodes.tell.publish import Publisher

NAME = "nodes"
KEY = "cluster"
_HOOKS = timedelta(seconds=Jobs.EVERY)


class Nodes:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        client = context.client
        book = ClaimBook(client, kinds.CONFIG_MAP, CLAIMS, context.namespace)
        self._observer = seen = Observer(
            context.store, asking(client, book, context.succession), namespace=context.namespace
        )
        control_plane = ControlPlane(book, context.epoch, seen.claims_changed)
        self._actor = Actor(client, control_plane, seen.desired, seen.memory, context.succession)
        self._publisher = Publisher(client, context.recorder)
        self._decided: tuple[View, Rolling, datetime] | None = None

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        self._observer.heard(kind, old, new)

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return self._observer.observe(outcomes)

    def decide(self, view: View, now: datetime) -> Rolling:
        """What was decided from this very view holds until it wanted to be looked at again."""
        if (kept := self._kept(view, now)) is not None:
            return kept
        decision = with_hooks(view, decide(view, now))
        self._decided = (view, decision, now)
        return decision

    def _kept(self, view: View, now: datetime) -> Rolling | None:
        if self._decided is None or self._decided[0] is not view or self._decided[1].steps:
            return None
        _, decision, then = self._decided
        if (after := decision.look_again_after) is None:
            return decision
        left = then + after - now
        return structs.replace(decision, look_again=requeue(left)) if left > timedelta(0) else None

    def act(self, step: Step) -> Outcome:
        return self._actor.act(step)

    def publish(self, key: str, decision: Rolling) -> Iterable[Barrier | Requeue]:
        return self._publisher.publish(decision)


def with_hooks(view: View, decision: Rolling) -> Rolling:
    """Nobody tells when the Job of a hook ends: while one runs it is looked at again and again."""
    if not any(one.state is HookState.RUNNING for one in view.hooks.values()):
        return decision
    return structs.replace(decision, look_again=earliest(decision.look_again, requeue(_HOOKS)))


def wakes(_kind: Kind, _old: Row | None, _new: Row | None) -> Iterable[Hashable]:
    """Everything is decided together."""
    return (KEY,)


RULES = (
    rule("", ["nodes"], ["get", "patch"]),
    rule("", ["pods"], ["get", "delete"]),
    rule("", ["pods/eviction"], ["create"]),
    rule("policy", ["poddisruptionbudgets"], ["get"]),
    rule("policy", ["poddisruptionbudgets/status"], ["patch"]),
    rule(kinds.GROUP, ["noderollouts"], ["get", "patch"]),
    rule(kinds.GROUP, ["noderollouts/status"], ["patch"]),
    rule(
        node_trust.KINDS[0].group, [one.plural for one in node_trust.KINDS], ["get"], names=[node_trust.NAME]
    ),
)
"""What is written may be read: to change it from what it is, or to see what became of a write whose answer
was lost."""

PART = LayerPart(
    NAME,
    tuple(map(Watch, READS)),
    wakes,
    Nodes,
    RULES,
    manifests=(*authors.node_hooks(), *node_trust.manifests()),
    collector=RolloutCollector,
    rules_in={
        NODE_LEASES: (rule(kinds.LEASE.group, [kinds.LEASE.plural], ["get", "watch"]),),
        CONTROLLERS_SPACE: (
            rule(kinds.LEASE.group, [kinds.LEASE.plural], ["get", "watch"], names=[CONTROLLERS]),
        ),
    },
    granted_rules=tuple(hook_rules()),
    claims=CLAIMS,
    of_others=(kinds.MACHINE, kinds.WORKLOAD_MIGRATION, kinds.WORKLOAD_PLACEMENT),
    written_by_people=(kinds.NODE_ROLLOUT,),
)
