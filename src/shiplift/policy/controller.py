"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime

import msgspec

from shiplift.engine import clock, contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts.kinds import CLUSTER_VERSION as CLUSTER_VERSIONS
from shiplift.facts.kinds import GROUP, UPGRADE_CONFIG, Kind
from shiplift.facts.meta import Row
from shiplift.kube import authors, config
from shiplift.kube.config import ConfigReader
from shiplift.kube.part import Context, LayerPart, Reaches
from shiplift.kube.rbac import rule
from shiplift.kube.watch import Watch
from shiplift.outside.outbox import Outbox
from shiplift.policy.act import Actor
from shiplift.policy.config import Section
from shiplift.policy.decide.decision import decide
from shiplift.policy.model import Syncing, View
from shiplift.policy.names import CLUSTER_VERSION, KEY, NAME, OUTBOX, RECORD, SECTION
from shiplift.policy.observe import Observer
from shiplift.policy.providers.asking import Asker
from shiplift.policy.providers.ocm import OcmProvider
from shiplift.policy.tell import metrics
from shiplift.policy.tell.metrics import SyncCollector
from shiplift.policy.tell.publish import Publisher
from shiplift.policy.tell.record import RecordBook


class Policies:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        client, space = context.client, context.namespace
        self._store, self._begun = context.store, clock.now()
        self._changes = contested.Memory()
        asker = Asker(client, space, context.probing)
        outbox, book = Outbox(client, space, OUTBOX), RecordBook(client, space)
        reader = ConfigReader(client, space, SECTION, Section)
        self._observer = seen = Observer(context.store, reader, asker, outbox, book)
        self._actor = Actor(client, asker, outbox, OcmProvider(client, space), lambda: seen.config)
        self._publisher = Publisher(client, context.recorder, book, space)

    def observe(self, key: str, outcomes: Outcomes) -> View:
        view = self._observer.observe(outcomes)
        view = msgspec.structs.replace(view, changes=dict(self._changes.changes))
        metrics.note(self._store, view, self._begun)
        return view

    def decide(self, view: View, now: datetime) -> Syncing:
        return decide(view, now)

    def act(self, step: Step) -> Outcome:
        outcome = self._actor.act(step)
        if outcome.ok:
            self._changes.note(step, clock.now())
        return outcome

    def publish(self, key: str, decision: Syncing) -> Iterable[Barrier | Requeue]:
        return self._publisher.publish(decision)


def wakes(_kind: Kind, _old: Row | None, _new: Row | None) -> Iterable[Hashable]:
    """There is one UpgradeConfig."""
    return (KEY,)


RULES = (
    rule(GROUP, [UPGRADE_CONFIG.plural], ["get", "create", "patch", "delete", authors.PROVIDE]),
    rule(GROUP, [f"{UPGRADE_CONFIG.plural}/status"], ["patch"]),
    rule(CLUSTER_VERSIONS.group, [CLUSTER_VERSIONS.plural], ["get"], [CLUSTER_VERSION]),
)
"""Whoever sets the provider grants its pull secret or token, by name (`shiplift manifests --grant`)."""

PART = LayerPart(
    NAME,
    (Watch(UPGRADE_CONFIG),),
    wakes,
    Policies,
    RULES,
    collector=SyncCollector,
    keeps=(RECORD, OUTBOX),
    near_rules=(config.RULE,),
    always=(KEY,),
    reaches=(Reaches((443,), "the provider of policies, over https"),),
)
