"""Plans from clean runs: each command is interrupted before it arrives and after it was done, each kind of
command is cut in every way, machines lose their power in the middle of what was begun, and somebody is
stopped with a command on its way while another comes to the end.

Where a scenario repeats another, what machines go through before they join is done once for each kind of
command; joining is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.crash import generate
from tests.crash.director import Book
from tests.crash.machines.scenarios import Scenario
from tests.crash.plans import Crash, CrashPoint, Cut, How, Pause, Plan, Restart, Spot, Trouble, Unsent

LAYER = "machines"
_LOOK = "facts"
_ENTERING = ("record init", "begin init", "record join", "ask admit", "begin join")
_QUICK = (How.REQUEST, How.ANSWER)
_SLOW = (How.STALLED, How.REFUSED)
_MATTER = ("claim", "record init", "begin init", "begin restart", "ask admit", "begin join", _LOOK)
"""Kinds of commands at which it is waited for a connection that says nothing, or that nobody takes."""


def plans(scenario: Scenario, books: Sequence[Book]) -> list[Plan]:
    """All of a scenario."""
    return [Plan(LAYER, scenario.name, trouble) for trouble in _troubles(scenario, books)]


def thinned(scenario: Scenario, every: Sequence[Plan]) -> list[Plan]:
    """Those that are run."""
    kept: list[Plan] = []
    seen: set[str] = set()
    for plan in every:
        group = _group(scenario, plan.trouble)
        if group not in seen:
            kept.append(plan)
        seen.add(group)
    return [plan for plan in kept if not (scenario.repeats and _is_repeated(scenario, plan.trouble))]


def _group(scenario: Scenario, trouble: Trouble) -> str:
    """Plans of one group stand for each other: of machines of one role, where they do not join yet; each way
    of being cut off, for each kind of command."""
    at: Spot = trouble.at  # type: ignore[union-attr]
    if isinstance(trouble, Cut):
        return f"{trouble.how} {at.step} {_role(scenario, at)}"
    if at.step in _ENTERING or not scenario.repeats:
        return str(trouble)
    return str(trouble).replace(f" {at.about} ", f" {_role(scenario, at)} ")


def _role(scenario: Scenario, at: Spot) -> str:
    if at.about in scenario.before:
        return at.about
    return "a control plane" if at.about in scenario.planes else "a worker"


def _is_repeated(scenario: Scenario, trouble: Trouble) -> bool:
    """Whether the scenario that is repeated has it too: a worker joins there as well."""
    at: Spot = trouble.at  # type: ignore[union-attr]
    if at.about in scenario.before:
        return False
    if isinstance(trouble, Crash | Unsent):
        return at.step not in _ENTERING and at.about in scenario.workers
    return at.step not in _ENTERING or at.about in scenario.workers


def _troubles(scenario: Scenario, books: Sequence[Book]) -> Iterator[Trouble]:
    spots = generate.writes(books)
    for spot in spots:
        yield Unsent(spot)
        yield Crash(spot, CrashPoint.BEFORE_REPLY)
    for spot in (*spots, *_looks(scenario)):
        yield from (Cut(spot, how) for how in (*_QUICK, *(_SLOW if spot.step in _MATTER else ())))
    for spot in spots:
        if spot.step.startswith("begin ") or spot.step in ("claim", "record init", "ask admit"):
            yield Restart(spot)
    first = {spot.step: spot for spot in reversed(spots)}
    yield from (Pause(spot) for spot in spots if first[spot.step] == spot)


def _looks(scenario: Scenario) -> list[Spot]:
    """Machines are looked at again and again: the second time stands for all; where there is a cluster
    already, the first time tells whether it is known."""
    return [Spot(_LOOK, name, 1 if name in scenario.before else 2) for name in scenario.names]
