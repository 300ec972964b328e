"""The layer's wiring: what it watches, what wakes it, what it may write."""

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
from shiplift.journal.book import Book
from shiplift.journal.decide import decide, watched
from shiplift.journal.model import Keeping, KeepJournal, View
from shiplift.journal.names import JOURNAL, KEY, NAME
from shiplift.journal.observe import Observer
from shiplift.journal.story import OBJECTS, READS
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch


class JournalKeeping:
    """The layer, for one term of leading."""

    def __init__(self, context: Context) -> None:
        self._book = Book(context.client, context.namespace, clock.now)
        self._observer = Observer(context.store, self._book, clock.now)

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        self._observer.heard(kind, old, new)

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return self._observer.observe(outcomes)

    def decide(self, view: View, now: datetime) -> Keeping:
        return decide(view, now)

    def act(self, step: Step) -> Outcome:
        if not isinstance(step, KeepJournal):
            raise TypeError(f"{type(step).__name__} is no step of this layer")
        try:
            self._book.keep(step.journal)
        except KubeError as error:
            return refusal(step, error)
        return Outcome.done(step)

    def publish(self, key: str, decision: Keeping) -> Iterable[Barrier | Requeue]:
        return ()

    def close(self) -> None:
        """What was heard and is not written down yet."""
        view = self._observer.observe(Outcomes())
        if view.recording:
            self._book.keep(watched(view, clock.now()))


def wakes(kind: Kind, _old: Row | None, _new: Row | None) -> Iterable[Hashable]:
    """What says that something runs; all else is heard, and taken in while something does."""
    return (KEY,) if kind in OBJECTS else ()


PART = LayerPart(
    NAME,
    tuple(map(Watch, READS)),
    wakes,
    JournalKeeping,
    keeps=(JOURNAL,),
    always=(KEY,),
    undone_without=READS[3:],
    of_others=(kinds.UPGRADE_CONFIG, kinds.NODE_ROLLOUT, kinds.WORKLOAD_MIGRATION),
)
