"""Which plans are left out, because another one of the same campaign stands for them.

Where a scenario repeats itself, one write of each kind of step, class of objects and phase is crashed at; a
phase lasts from one object that is worked on to the next. A scenario that repeats another keeps its own kinds
of steps and its pauses whole; for what the other has too, these phases do: before, amid and after the work.
Where a scenario leaves what other layers write to their own suites (`leaves_others`), one write of each kind
of step and phase is crashed at, and one answer of each kind is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from shiplift.kube.part import LayerPart
from tests.crash import generate
from tests.crash.calls import Sort
from tests.crash.director import Book
from tests.crash.plans import Crash, Failure, Fault, Pause, Plan, Spot, Watching
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
    others = _of_others(suite.part, scenario, books) if scenario.leaves_others else set[str]()
    group = _groups(suite, scenario, books, set(generate.steps(repeated)) if repeated else set(), others)
    crashes: dict[tuple[str, str], Plan] = {}
    for plan in every:
        if isinstance(plan.trouble, Crash):
            crashes.setdefault((group(plan.trouble.at), plan.trouble.point), plan)
    kept = set(map(str, crashes.values()))
    return [plan for plan in every if str(plan) in kept or _is_own(plan, repeated, others)]


def _is_own(plan: Plan, repeated: Books | None, others: set[str]) -> bool:
    """Whether what goes wrong is not a write that another stands for, nor what is tried elsewhere."""
    match plan.trouble:
        case Crash():
            return False
        case Fault(at=at, failure=failure):
            again = repeated is not None and at.step in generate.steps(repeated)
            return not again and (failure is Failure.LOST or at.step not in others)
        case Watching(resource=resource):
            return not repeated or resource not in generate.watched(repeated)
        case Pause(at=at):
            return not repeated or at.step not in others
        case _:
            return True


def _of_others(part: LayerPart, scenario: Scenario, books: Books) -> set[str]:
    """The writes that the layer has no right to: those of layers and programs beside it."""
    places = (part.rules, part.template_rules, part.near_rules, part.granted_rules, *part.rules_in.values())
    rights = {
        f"{verb} {resource}"
        for rules in places
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }
    writes = [step for step, sort in generate.steps(books).items() if sort is Sort.WRITE]
    outside = tuple(f"{one.name}: " for one in scenario.outside)
    return {one for one in writes if one.partition(" [")[0] not in rights and not one.startswith(outside)}


def _groups(
    suite: Suite[Any], scenario: Scenario, books: Books, elsewhere: set[str], others: set[str]
) -> Callable[[Spot], str]:
    """Writes of one group stand for each other."""
    spots = generate.writes(books)
    fine = dict(zip(spots, _worked_on(suite, scenario, spots), strict=True))
    coarse = dict(zip(spots, _phases(suite, spots), strict=True))

    def group(spot: Spot) -> str:
        if spot.step in others:
            return f"{spot.step} {coarse[spot]}"
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
