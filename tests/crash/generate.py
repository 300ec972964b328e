"""Plans from clean runs: every write with both crash points, every kind of step with every failure, every
watched kind with every disturbance, a pause at every kind of write, and an outage where a scenario has one.

Only what all clean runs of a scenario have in common becomes a plan, so that its spot will be reached again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.crash.calls import Sort
from tests.crash.director import Book
from tests.crash.plans import (
    Crash,
    CrashPoint,
    Disturbance,
    Failure,
    Fault,
    Outage,
    Pause,
    Plan,
    Spot,
    Trouble,
    Watching,
)

OUTAGE = 6.0
"""Seconds that the API server is away: longer than an operator here may lead without it."""


def plans(
    layer: str,
    scenario: str,
    books: Sequence[Book],
    outages: Sequence[Spot] = (),
    meant: Sequence[Trouble] = (),
) -> list[Plan]:
    """All plans for a scenario of a layer, but for trouble that ends otherwise by design."""
    away = (Outage(spot, OUTAGE) for spot in outages)
    return [Plan(layer, scenario, one) for one in (*_troubles(books), *away) if one not in meant]


def sample(every: Sequence[Plan], number: int, seed: int) -> list[Plan]:
    """A seeded choice, spread over the kinds of trouble."""
    dice = random.Random(seed)
    by_kind: dict[str, list[Plan]] = {}
    for plan in every:
        by_kind.setdefault(type(plan.trouble).__name__, []).append(plan)
    for group in by_kind.values():
        dice.shuffle(group)
    chosen: list[Plan] = []
    while len(chosen) < number and any(by_kind.values()):
        chosen += [group.pop() for group in by_kind.values() if group]
    return chosen[:number]


def writes(books: Sequence[Book]) -> list[Spot]:
    """The accepted writes that all runs have, in the order of the first."""
    rows = [[one.spot for one in book.writes if one.accepted] for book in books]
    return [spot for spot in rows[0] if all(spot in row for row in rows[1:])]


def _troubles(books: Sequence[Book]) -> Iterator[Trouble]:
    for spot in writes(books):
        yield from (Crash(spot, point) for point in CrashPoint)
    for step, sort in steps(books).items():
        for failure in Failure:
            if failure is not Failure.LOST or sort is Sort.WRITE:
                yield Fault(Spot(step), failure)
    for resource, number in watched(books).items():
        for what in Disturbance:
            yield Watching(resource, what, 0 if what is Disturbance.DELAYED else (number + 1) // 2)
    for step in sorted({spot.step for spot in writes(books)}):
        yield Pause(Spot(step))


def steps(books: Sequence[Book]) -> dict[str, Sort]:
    """The kinds of steps that all runs have; watches have disturbances of their own."""
    rows = [{one.call.step: one.call.sort for one in book.entries} for book in books]
    return {step: sort for step, sort in rows[0].items() if all(step in row for row in rows[1:])}


def watched(books: Sequence[Book]) -> dict[str, int]:
    """The watched kinds, with the least number of events that each had."""
    return {name: min(book.events.get(name, 0) for book in books) for name in sorted(books[0].events)}
