"""Which plans are left out, because another one of the same campaign stands for them.

Where a scenario repeats itself, one write of each kind of step, class of objects and phase is crashed at; a
phase lasts from one object that is worked on to the next. A scenario that repeats another keeps its own kinds
of steps and its pauses whole; for what the other has too, these phases do: before, amid and after the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from tests.crash import generate
from tests.crash.director import Book
from tests.crash.plans import Crash, Fault, Plan, Spot, Watching
from tests.crash.suite import Scenario, Suite

Books = Sequence[Book]


class Phase(StrEnum):
    BEFORE = "before the work"
    AMID = "amid the work"
    AFTER = "after the work"


def thinned(
    suite: Suite[Any], scenario: Scenario, every: Sequence[Plan], books: Books, repeated: Books | None
) -> list[Plan]:
    """Those that are run; `repeated` are the clean runs of the scenario that it repeats, if any."""
    group = _groups(suite, scenario, books, set(generate.steps(repeated)) if repeated else set())
    crashes: dict[tuple[str, str], Plan] = {}
    for plan in every:
        if isinstance(plan.trouble, Crash):
            crashes.setdefault((group(plan.trouble.at), plan.trouble.point), plan)
    kept = set(map(str, crashes.values()))
    return [plan for plan in every if str(plan) in kept or _is_own(plan, repeated)]


def _is_own(plan: Plan, repeated: Books | None) -> bool:
    """Whether what goes wrong is not a write that another stands for, nor what the repeated scenario has."""
    match plan.trouble:
        case Crash():
            return False
        case Fault(at=at):
            return not repeated or at.step not in generate.steps(repeated)
        case Watching(resource=resource):
            return not repeated or resource not in generate.watched(repeated)
        case _:
            return True


def _groups(
    suite: Suite[Any], scenario: Scenario, books: Books, elsewhere: set[str]
) -> Callable[[Spot], str]:
    """Writes of one group stand for each other."""
    spots = generate.writes(books)
    fine = dict(zip(spots, _worked_on(suite, scenario, spots), strict=True))
    coarse = dict(zip(spots, _phases(suite, spots), strict=True))

    def group(spot: Spot) -> str:
        phase = coarse[spot] if spot.step in elsewhere else fine[spot]
        return f"{spot.step} {suite.alike(scenario, spot.about)} {phase}"

    return group


def _phases(suite: Suite[Any], spots: Sequence[Spot]) -> Iterator[str]:
    """Work that is done to an object once more, as on a way back, is another phase."""
    work = [place for place, spot in enumerate(spots) if suite.is_work(spot.step)]
    round_ = 1
    for place, spot in enumerate(spots):
        if not work or place < work[0]:
            yield Phase.BEFORE
        elif place > work[-1]:
            yield Phase.AFTER
        else:
            round_ = max(round_, spot.occurrence) if suite.is_work(spot.step) else round_
            yield f"{Phase.AMID} {round_}"


def _worked_on(suite: Suite[Any], scenario: Scenario, spots: Sequence[Spot]) -> Iterator[str]:
    """The same, with what is being worked on."""
    now = ""
    for spot, phase in zip(spots, _phases(suite, spots), strict=True):
        now = suite.alike(scenario, spot.about) if suite.is_work(spot.step) else now
        yield f"{phase} {now}" if phase.startswith(Phase.AMID) else phase
