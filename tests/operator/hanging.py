"""A layer whose steps all touch one namespace, many of every kind at once: where that hangs, they do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision
from shiplift.engine.step import Operation, Outcome, Outcomes, Started, Step
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.errors import KubeError
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch

HANGS = "hangs"
"""The namespace that they touch."""
_MANY = 60


class Touch(Step, frozen=True):
    number: int

    @property
    def key(self) -> str:
        return f"touch {self.number}"

    def describe(self) -> str:
        return f"touch namespace {HANGS}, {self.number}"


class TouchAside(Touch, frozen=True):
    aside = True

    @property
    def key(self) -> str:
        return f"touch {self.number} aside"


class TouchLong(Operation, frozen=True):
    number: int

    @property
    def key(self) -> str:
        return f"touch {self.number} for long"

    def describe(self) -> str:
        return f"touch namespace {HANGS} for long, {self.number}"


class View(msgspec.Struct, frozen=True):
    row: Namespace | None


class Toucher:
    def __init__(self, context: Context) -> None:
        self._context = context

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return View(self._row())

    def decide(self, view: View, now: datetime) -> Decision:
        return Decision(_STEPS if view.row else ())

    def act(self, step: Step) -> Outcome:
        row = self._row()
        assert row is not None
        patch = {"metadata": {"annotations": {"shiplift.dev/touched": step.describe()}}}
        try:
            self._context.client.patch(kinds.NAMESPACE, row.name, patch, uid=row.uid, dry_run=True)
        except KubeError as error:
            return Outcome.refused(step, str(error))
        return Outcome.done(step)

    def publish(self, key: str, decision: Decision) -> Iterable[Barrier]:
        return ()

    def _row(self) -> Namespace | None:
        return self._context.store.snapshot().find(Namespace, HANGS)


_STARTED = datetime(2026, 3, 1, tzinfo=UTC)
_STEPS = (
    *(Touch(number) for number in range(_MANY)),
    *(TouchAside(number) for number in range(_MANY)),
    *(
        TouchLong(Started("1", _STARTED, _STARTED + timedelta(days=99_999)), number)
        for number in range(_MANY)
    ),
)


def _wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    return [HANGS] if new and new.name == HANGS else []


def touchers(number: int) -> list[LayerPart]:
    """Such layers, with the rights of the one that stamps."""
    watches = (Watch(kinds.NAMESPACE),)
    return [LayerPart(f"toucher-{one}", watches, _wakes, Toucher) for one in range(number)]
