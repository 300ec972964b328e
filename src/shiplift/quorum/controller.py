"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime

import msgspec

from shiplift.api.quorum import QuorumService, QuorumServiceStatus, QuorumStep
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue, earliest, requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import POD, QUORUM_SERVICE, STATEFUL_SET, UPGRADE_CONFIG, Kind
from shiplift.facts.meta import Row
from shiplift.kube import config
from shiplift.kube.config import ConfigReader
from shiplift.kube.grants import quorum_rules
from shiplift.kube.part import Context, LayerPart, Listens, Reaches
from shiplift.kube.rbac import rule
from shiplift.kube.watch import Watch
from shiplift.quorum.act.actor import About, Actor
from shiplift.quorum.artifacts import Artifacts
from shiplift.quorum.decide import decide
from shiplift.quorum.images.fetching import Https
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Line, QuorumDecision, Reason
from shiplift.quorum.observe.asking import Asking
from shiplift.quorum.observe.observer import RESTING, Observer, Sight, Watched
from shiplift.quorum.settings import SECTION, Section
from shiplift.quorum.steps import Call, Write
from shiplift.quorum.tell import report
from shiplift.quorum.tell.metrics import QuorumCollector
from shiplift.quorum.tell.publish import Publisher

NAME = "quorum"


class Telling(QuorumDecision, frozen=True, kw_only=True):
    """A decision, and what is to be told of it; nothing of a service that is gone."""

    service: QuorumService | None = None
    status: QuorumServiceStatus | None = None


_GONE = Telling(step=QuorumStep.IDLE, line=Line(Reason.AT_TARGET, "it is gone"))


class Quorum:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        self._context = context
        client = context.client
        self._artifacts = Artifacts(ConfigReader(client, context.namespace, SECTION, Section))
        self._observer = Observer(client, context.store)
        self._publisher = Publisher(client, context.recorder)
        self._services: dict[str, Watched] = {}
        self._actors: dict[str, Actor] = {}
        self._sets: dict[tuple[str, str], frozenset[str]] = {}
        """By namespace and name of a StatefulSet: whose it is."""

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """A StatefulSet or a pod of one wakes the services that it is of; an upgrade wakes all."""
        row = new or old
        if kind == UPGRADE_CONFIG:
            for key in list(self._services):
                self._context.wake(key)
        if row is None or kind not in (STATEFUL_SET, POD):
            return
        name = row.name if kind == STATEFUL_SET else _set_of(row)
        for key in self._sets.get((row.namespace, name), ()):
            self._context.wake(key)

    def observe(self, key: str, outcomes: Outcomes) -> Sight | None:
        namespace, _, name = key.partition("/")
        known = self._services.get(key) or self._begun(key)
        sight = self._observer.observe(namespace, name, known, outcomes)
        if sight is None:
            self._forget(key)
            return None
        sets = {*sight.service.spec.stateful_sets, *(pool.name for pool in sight.view.pools)}
        self._note_sets(key, {(namespace, one) for one in sets})
        about = About(namespace, name, sight.service.spec)
        self._actors[key] = Actor(self._context.client, about, self._artifacts, Https, known.memory)
        return sight

    def decide(self, view: Sight | None, now: datetime) -> Telling:
        if view is None:
            return _GONE
        about = view.service.metadata
        key = f"{about.namespace}/{about.name}"
        found = decide(view.view, now)
        if known := self._services.get(key):
            known.decided = (about.generation, found)
        every = known.every(about.generation) if known else RESTING
        return Telling(
            steps=tuple(msgspec.structs.replace(step, service=key) for step in found.steps),
            look_again=earliest(found.look_again, requeue(every)),
            step=found.step,
            line=found.line,
            record=found.record,
            give_up=found.give_up,
            service=view.service,
            status=report.status(view.service, view.view, found, now),
        )

    def act(self, step: Step) -> Outcome:
        if not isinstance(step, Write | Call) or (actor := self._actors.get(step.service)) is None:
            return Outcome.refused(step, "its service is not known any more")
        return actor.act(step)

    def publish(self, key: str, decision: Telling) -> Iterable[Barrier | Requeue]:
        if decision.service is None or decision.status is None:
            return ()
        return self._publisher.publish(decision.service, decision.status)

    def let_go(self) -> None:
        """However the term ends: nobody hands out binaries who does not lead."""
        self._artifacts.close()

    def _begun(self, key: str) -> Watched:
        made = Watched(Memory(), Asking(self._context.client, self._context.probing, key))
        self._services[key] = made
        return made

    def _forget(self, key: str) -> None:
        if known := self._services.pop(key, None):
            known.asking.close()
        self._actors.pop(key, None)
        self._note_sets(key, set())

    def _note_sets(self, key: str, named: set[tuple[str, str]]) -> None:
        """Replaced as a whole: it is read on other threads."""
        known = {place: keys - {key} for place, keys in self._sets.items()}
        for place in named:
            known[place] = known.get(place, frozenset()) | {key}
        self._sets = {place: keys for place, keys in known.items() if keys}


def _set_of(pod: Row) -> str:
    owner = pod.controller
    return owner.name if owner is not None and owner.kind == STATEFUL_SET.kind else ""


def wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    """Services; which StatefulSets and pods are theirs is known by `heard`."""
    row = new or old
    return (f"{row.namespace}/{row.name}",) if row is not None and kind == QUORUM_SERVICE else ()


RULES = (
    rule(kinds.GROUP, [QUORUM_SERVICE.plural], ["get", "patch"]),
    rule(kinds.GROUP, [f"{QUORUM_SERVICE.plural}/status"], ["patch"]),
)
"""StatefulSets, pods and Secrets are granted namespace by namespace (`shiplift manifests --quorum`)."""

PART = LayerPart(
    NAME,
    (Watch(QUORUM_SERVICE), Watch(UPGRADE_CONFIG), Watch(STATEFUL_SET), Watch(POD)),
    wakes,
    Quorum,
    RULES,
    collector=QuorumCollector,
    near_rules=(config.RULE,),
    granted_rules=tuple(quorum_rules()),
    of_others=(UPGRADE_CONFIG,),
    written_by_people=(QUORUM_SERVICE,),
    listens=(Listens("artifacts", 8090),),
    reaches=(Reaches((443, 5000, 9000), "registries, and the servers that are to be swapped"),),
    scratch="8Gi",  # the layers of one image, what is taken out of them, and the binaries of all services
)
