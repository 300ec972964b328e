"""The layer's wiring: what it watches, what wakes it, what it may read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime

import msgspec

from shiplift.engine import clock
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts.kinds import UPGRADE_CONFIG, Kind
from shiplift.facts.meta import Row
from shiplift.kube import config
from shiplift.kube.config import ConfigReader
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.part import Context, LayerPart, Reaches
from shiplift.kube.watch import Watch
from shiplift.notify import metrics
from shiplift.notify.act import Actor
from shiplift.notify.config import Section
from shiplift.notify.decide import decide
from shiplift.notify.metrics import NoticeCollector
from shiplift.notify.model import Deliver, Notifying, View
from shiplift.notify.names import KEY, NAME, OUTBOX, SECTION
from shiplift.notify.observe import Observer
from shiplift.notify.silences import Silences
from shiplift.outside.outbox import Outbox


class Troubles:
    """Tells by Events on the UpgradeConfig what goes wrong, each thing when it begins."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told: tuple[str, ...] = ()

    def tell(self, lines: tuple[str, ...], uid: str) -> None:
        for line in lines:
            if line not in self._told:
                self.lost(line, uid)
        self._told = lines

    def lost(self, line: str, uid: str) -> None:
        about = Regarding(UPGRADE_CONFIG, KEY, uid=uid)
        self._recorder.record(about, "NoticeFailed", line, action="Notify", type=EventType.WARNING)


class Notices:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        client, space = context.client, context.namespace
        self._store = context.store
        outbox = Outbox(client, space, OUTBOX)
        silences = Silences(clock.now, lambda: context.wake(KEY))
        reader = ConfigReader(client, space, SECTION, Section)
        self._observer = Observer(context.store, outbox.box, silences)
        self._actor = Actor(client, space, outbox, reader, silences)
        self._troubles = Troubles(context.recorder)
        self._about = ""

    def observe(self, key: str, outcomes: Outcomes) -> View:
        view = self._observer.observe(outcomes)
        trouble = "; ".join(one for one in (view.trouble, self._actor.trouble) if one)
        view = msgspec.structs.replace(view, trouble=trouble)
        metrics.note(self._store, view)
        return view

    def decide(self, view: View, now: datetime) -> Notifying:
        return decide(view, now)

    def act(self, step: Step) -> Outcome:
        outcome = self._actor.act(step)
        if isinstance(step, Deliver) and outcome.ok and outcome.message:
            self._troubles.lost(f"{outcome.message}: {step.letter.id} is left untold", self._about)
        return outcome

    def publish(self, key: str, decision: Notifying) -> Iterable[Barrier | Requeue]:
        self._about = decision.about or self._about
        self._troubles.tell(decision.troubles, self._about)
        return ()


def wakes(_kind: Kind, _old: Row | None, _new: Row | None) -> Iterable[Hashable]:
    """There is one UpgradeConfig."""
    return (KEY,)


PART = LayerPart(
    NAME,
    (Watch(UPGRADE_CONFIG),),
    wakes,
    Notices,
    collector=NoticeCollector,
    keeps=(OUTBOX,),
    near_rules=(config.RULE,),
    always=(KEY,),
    of_others=(UPGRADE_CONFIG,),
    reaches=(Reaches((443, 9093), "webhooks over https, an Alertmanager"),),
)
