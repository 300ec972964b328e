"""Undo until nothing is left: decide, act, wait until the store shows it, decide again.

This is how a layer takes all of its own out of a cluster where no operator runs. What is refused for now is
tried again. What keeps it from going on is said at once. Where a whole round came to nothing and something in
it was refused for good, what it needs stays old, or time is up, an error says what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision
from shiplift.engine.step import Answer, Outcome, Step
from shiplift.kube.outcomes import SOON

D = TypeVar("D", bound=Decision)
Say = Callable[[str], None]
_MOST_SECONDS = 600.0
SETTLE_SECONDS = 30.0
"""So long a write may take to be seen in the store."""
_PAUSE_SECONDS = 1.0
_TELL_SECONDS = 10.0
"""Seconds between two lines about what is waited for."""


class UndoError(Exception):
    """Something of ours could not be taken out; says what, and what would help."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Settling(Protocol):
    """What is asked of the store."""

    def wait_settled(self, barriers: Iterable[Barrier], timeout: float) -> bool: ...


def _sees_all(_decision: object) -> str:
    return ""


def _changes(_step: Step) -> bool:
    return False


class Undoing(msgspec.Struct, Generic[D], frozen=True):
    """What is a layer's own in it."""

    decide: Callable[[], D]
    """What to do now, from what the store has now."""
    act: Callable[[Step], Outcome]
    left: Callable[[D], bool]
    """Whether something of the layer is left although there is nothing to do at this moment."""
    blind: Callable[[D], str] = _sees_all
    """What is left because it cannot be seen, in words; empty where all can be seen."""
    looks: Callable[[Step], bool] = _changes
    """Whether a step only looks: then it is neither told nor counted."""
    waits: Callable[[D], str] = _sees_all
    """What is waited for where there is nothing to do, in words; empty where nothing is."""


def undo_until_clean(
    layer: Undoing[D], store: Settling, say: Say, most_seconds: float = _MOST_SECONDS
) -> tuple[int, D]:
    """How many changes it took, and the last decision: nothing is left to do."""
    changes = 0
    give_up = time.monotonic() + most_seconds
    blindness, waiting = _Blindness(say), _Waiting(say)
    while time.monotonic() < give_up:
        decision = layer.decide()
        if not decision.steps and not layer.left(decision):
            return changes, decision
        blindness.note("" if decision.steps else layer.blind(decision))
        outcomes = [_act(layer, step, say) for step in decision.steps]
        did = [not layer.looks(step) and one.ok for step, one in zip(decision.steps, outcomes, strict=True)]
        changes += sum(did)
        store.wait_settled([barrier for one in outcomes for barrier in one.barriers], SETTLE_SECONDS)
        _refuse_failures(decision.steps, outcomes)
        waiting.note("" if any(did) else layer.waits(decision))
        if not any(did):
            time.sleep(_PAUSE_SECONDS)
    raise UndoError(
        "there is still something of ours left", "is an operator running that does not see the abort?"
    )


class _Waiting:
    """What is waited for: said when it is new, and now and then for as long as it is the same."""

    def __init__(self, say: Say) -> None:
        self._say, self._what, self._said = say, "", float("-inf")

    def note(self, what: str) -> None:
        now = time.monotonic()
        if what and (what != self._what or now - self._said >= _TELL_SECONDS):
            self._say(what)
            self._said = now
        self._what = what


class _Blindness:
    """Of what cannot be seen: said once, and borne for as long as a broken connection takes."""

    def __init__(self, say: Say) -> None:
        self._say, self._what, self._since = say, "", 0.0

    def note(self, what: str) -> None:
        if what != self._what:
            self._what, self._since = what, time.monotonic()
            if what:
                self._say(what)
        elif what and time.monotonic() - self._since >= SETTLE_SECONDS:
            raise UndoError(what, "then run `shiplift undo` again")


def _act(layer: Undoing[D], step: Step, say: Say) -> Outcome:
    outcome = layer.act(step)
    if (outcome.ok and layer.looks(step)) or (not outcome.ok and outcome.retry_after == SOON):
        return outcome
    told = "tried again" if outcome.answer is Answer.REFUSED and outcome.retry_after else outcome.answer.value
    say(f"{step.describe()}: {told}" + (f" ({outcome.message})" if outcome.message else ""))
    return outcome


def _refuse_failures(steps: Sequence[Step], outcomes: Sequence[Outcome]) -> None:
    """What is refused for now is tried again; when nothing at all worked, somebody has to know."""
    if not outcomes or any(one.ok for one in outcomes):
        return
    for step, outcome in zip(steps, outcomes, strict=True):
        if outcome.retry_after is None or outcome.answer is Answer.FAILED:
            raise UndoError(f"{step.describe()}: {outcome.message}", "may this user change it?")
