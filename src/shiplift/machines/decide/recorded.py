"""The one rule for recorded commands: written down first, begun once, found again, tried again where safe.

A command that failed is tried again by the next run of bootstrap, since a person has looked in between; one
that was lost (a power cut) at once, a few times.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.api.machines import MachinePhase
from shiplift.engine.step import Started
from shiplift.machines.decide.stand import Case, Stand, acting, failed
from shiplift.machines.model import Command, CommandState, Purpose, Reason
from shiplift.machines.steps import Record, Run

_MOST_LOST = 3
_GRACE = timedelta(minutes=1)
"""A machine ends a command itself at its limit; what is not over so long after is over for us."""
_LINES, _LENGTH = 3, 400


class Errand(NamedTuple):
    """A command that a machine needs."""

    purpose: Purpose
    what: str
    limit: timedelta
    phase: MachinePhase
    reason: Reason
    digest: str = ""
    via: str = ""
    again: bool = False


def last_of(case: Case, errand: Errand) -> Command | None:
    """The last attempt at just that; another manifest is another errand."""
    last = case.facts.last(errand.purpose.value)
    return None if last is None or last.digest != errand.digest else last


def lost(command: Command) -> bool:
    """Whether it was begun and will never end. The machine says so: clocks may differ, and what still runs
    must not be begun a second time."""
    return command.state is CommandState.LOST


def overdue(command: Command, now: datetime) -> bool:
    """Whether it runs for longer than the machine should let it."""
    return command.state is CommandState.RUNNING and now > command.deadline + _GRACE


def pursue(case: Case, errand: Errand) -> Stand | None:
    """What is to be done about it; None when it has ended well."""
    last = last_of(case, errand)
    if last is None:
        return attempt(case, errand)
    if last.well:
        return None
    if lost(last):
        return (
            attempt(case, errand) if _lost_in_this_run(case, errand) < _MOST_LOST else given_up(errand, last)
        )
    if last.failed:
        return given_up(errand, last) if last.run == case.view.run else attempt(case, errand)
    return _under_way(case, errand, last)


def _under_way(case: Case, errand: Errand, last: Command) -> Stand:
    if last.state is CommandState.RECORDED:
        return _begin(case, errand, last)
    if overdue(last, case.now):
        return given_up(errand, last)
    return Stand(errand.phase, errand.reason, errand.what)


def attempt(case: Case, errand: Errand) -> Stand:
    """The next attempt is written down."""
    before = case.facts.last(errand.purpose.value)
    number = before.attempt + 1 if before else 1
    started = Started.begin(errand.purpose.value, case.now, errand.limit, number)
    step = Record(machine=case.name, purpose=errand.purpose, started=started, digest=errand.digest)
    return acting(case.view, errand.phase, errand.reason, step)._replace(message=errand.what)


def _begin(case: Case, errand: Errand, command: Command) -> Stand:
    started = Started(command.id, command.started, command.deadline, command.attempt)
    step = Run(
        started=started,
        machine=case.name,
        purpose=errand.purpose,
        what=errand.what,
        via=errand.via,
        again=errand.again,
    )
    return acting(case.view, errand.phase, errand.reason, step)


def _lost_in_this_run(case: Case, errand: Errand) -> int:
    same = [one for one in case.facts.commands if one.purpose == errand.purpose.value]
    return sum(one.run == case.view.run and lost(one) for one in same)


def given_up(errand: Errand, command: Command) -> Stand:
    how = "did not end in time" if command.timed_out else f"ended with exit code {command.code}"
    if command.state is CommandState.RUNNING:
        how = "still runs, and should have ended"
    elif command.state is not CommandState.ENDED:
        how = "was cut off"
    said = excerpt(command.tail)
    return failed(
        errand.phase,
        Reason.COMMAND_FAILED,
        f"{errand.what}: {command.id} {how}" + (f": {said}" if said else ""),
        "mend that, then run it again",
    )


def excerpt(tail: str) -> str:
    """The end of what a command said, in one line."""
    lines = [one.strip() for one in tail.splitlines() if one.strip()]
    return "; ".join(lines[-_LINES:])[-_LENGTH:]
