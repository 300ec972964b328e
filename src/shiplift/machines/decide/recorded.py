"""The one rule for recorded commands: written down first, begun once, found again, tried again where safe.

A command that failed is tried again by the next run of bootstrap, since a person has looked in between; one
that was lost (a power cut) at once, a few times.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.api.machines import MachinePhase
from shiplift.engine.step import Started
from shiplift.machines.decide.stand import Case, Stand, acting, failed
from shiplift.machines.model import Command, CommandState, Purpose, Reason
from shiplift.machines.names import FOLDER
from shiplift.machines.steps import Record, Run, run_key

_MOST_LOST = 3
_GRACE = timedelta(minutes=1)
"""A machine ends a command itself at its limit; what is not over so long after is over for us."""
_LINES, _LENGTH = 3, 400
_WRONG = re.compile(r"\[ERROR|^error|^E: ", re.IGNORECASE)
"""Lines by which kubeadm, apt and others say what went wrong."""
_GENERAL = re.compile(r"preflight checks failed$")
"""Says no more than that the lines before it are errors."""


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
        return _of_another_run(case, errand) or attempt(case, errand)
    if last.well:
        return None
    if lost(last):
        return (
            attempt(case, errand) if _lost_in_this_run(case, errand) < _MOST_LOST else given_up(errand, last)
        )
    if last.failed:
        return given_up(errand, last) if last.run == case.view.run else attempt(case, errand)
    return _under_way(case, errand, last)


def _of_another_run(case: Case, errand: Errand) -> Stand | None:
    """What another run of bootstrap, which brings something else, has under way is waited for."""
    other = case.facts.last(errand.purpose.value)
    if other is None or other.run == case.view.run:
        return None
    begins = other.state is CommandState.RECORDED and case.now < other.started + _GRACE
    if begins or (other.state is CommandState.RUNNING and not overdue(other, case.now)):
        return Stand(errand.phase, errand.reason, f"{errand.what}: another run of bootstrap is at {other.id}")
    return replaced(case, errand)


def replaced(case: Case, errand: Errand) -> Stand | None:
    """Another run of bootstrap has put something else in the place of what this one brought: told, or both
    would go on for ever."""
    last = case.facts.last(errand.purpose.value)
    same = [one for one in case.facts.commands if one.purpose == errand.purpose.value]
    ours = any(one.well and one.run == case.view.run and one.digest == errand.digest for one in same)
    if last is None or last.run == case.view.run or not ours:
        return None
    text = f"{errand.what}: another run of bootstrap has put something else in its place ({last.id})"
    hint = "let one run come to its end at a time, with one file and one version of shiplift"
    return failed(errand.phase, Reason.COMMAND_FAILED, text, hint)


def refusals(case: Case, purpose: Purpose) -> int:
    """How often in a row the last attempt at it was not let begin."""
    last = case.facts.last(purpose.value)
    outcome = case.view.outcomes.last.get(run_key(case.name, last.id)) if last is not None else None
    return outcome.attempt if outcome is not None and not outcome.ok else 0


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
        f"mend that, then run it again; {FOLDER}/journal/{command.id}/output there has all that it said",
    )


def excerpt(tail: str) -> str:
    """What went wrong by what a command said, else the end of that, in one line."""
    lines = list(dict.fromkeys(one.strip() for one in tail.splitlines() if one.strip()))
    errors = [one for one in lines if _WRONG.search(one)]
    wrong = [one for one in errors if not _GENERAL.search(one)] or errors
    said = "; ".join((wrong or lines)[-_LINES:])
    said = said if len(said) <= _LENGTH else f"{said[:_LENGTH]} …"
    before = len(wrong) - _LINES
    return f"{said} (errors before that: {before})" if before > 0 else said
