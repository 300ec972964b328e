"""One step, done on its machine over SSH; what was answered."""

from __future__ import annotations

import base64
import re

import msgspec

from shiplift.engine import clock
from shiplift.engine.step import Outcome, Step
from shiplift.machines.endpoints import place
from shiplift.machines.hosts import Clock, target
from shiplift.machines.kubeadm import Admission, NoCertificateError, ca_hash
from shiplift.machines.model import Facts, Purpose, View
from shiplift.machines.names import AUTHORITY, FOLDER, admission
from shiplift.machines.pools import Candidate, Wanted
from shiplift.machines.rests import Rests
from shiplift.machines.scripts import Script, admitting, script
from shiplift.machines.ssh.door import Answer, Door
from shiplift.machines.ssh.errors import RefusedError, SshError, StuckError
from shiplift.machines.steps import Claim, Record, Run

_SECONDS = 60.0
_ASK_SECONDS = 90.0
_MOST_STUCK = 3
_TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b")
_CERTIFICATE_KEY = re.compile(r"\b[0-9a-f]{64}\b")


class _NotNowError(Exception):
    """A control plane lets nobody join at this moment: its API server may be starting."""


class Actor:
    """The hands of one run."""

    def __init__(
        self, door: Door, wanted: Wanted, run: str, folder: str = FOLDER, clock: Clock = clock.now
    ) -> None:
        self._door = door
        self._wanted = wanted
        self._run = run
        self._folder = folder
        self._machines = {one.name: one for one in wanted.candidates}
        self._clock = clock
        self._rests = Rests()

    def waits(self, step: Step) -> bool:
        """Whether a machine that the step asks is left alone for now."""
        return any(self._clock() < self._rests.until(name) for name in _asks(step))

    def act(self, step: Step, view: View) -> Outcome:
        """Whatever was not answered is looked at in the next round."""
        try:
            self._do(step, view)
        except _NotNowError as error:
            return Outcome.refused(step, str(error))
        except RefusedError as error:
            return Outcome.failed(step, str(error))
        except StuckError as error:
            return self._stuck(step, error)
        except SshError as error:
            return Outcome.unknown(step, str(error))
        return Outcome.done(step)

    def _stuck(self, step: Step, error: StuckError) -> Outcome:
        """A machine that answers each look and no step would keep all others waiting for it."""
        times = self._rests.in_row(_asks(step)[0])
        if times < _MOST_STUCK:
            return Outcome.unknown(step, str(error))
        return Outcome.failed(step, f"{error}, {times} times in a row")

    def fetch(self, machine: str) -> str:
        """The credentials of an administrator, as that machine has them."""
        try:
            return str(self._ask(machine, {"op": "fetch"})["text"])
        except SshError:
            return ""

    def _do(self, step: Step, view: View) -> None:
        if isinstance(step, Claim):
            self._ask(step.machine, {"op": "claim", "mark": step.mark})
        elif isinstance(step, Record):
            self._ask(step.machine, self._recorded(step))
        elif isinstance(step, Run):
            self._begin(step, view)
        else:
            raise TypeError(f"{step.describe()}: nobody knows how")

    def _ask(self, machine: str, request: dict[str, object], seconds: float = _SECONDS) -> Answer:
        request = {"folder": self._folder, **request}
        try:
            said = self._door.ask(target(self._machines[machine]), request, seconds)
        except SshError as error:
            self._rests.failed(machine, error.took, self._clock())
            raise
        self._rests.answered(machine)
        return said

    def _recorded(self, step: Record) -> dict[str, object]:
        started = step.started
        return {
            "op": "record",
            "id": started.id,
            "run": self._run,
            "started": started.started,
            "deadline": started.deadline,
            "limit": (started.deadline - started.started).total_seconds(),
            "digest": step.digest,
        }

    def _begin(self, step: Run, view: View) -> None:
        machine = self._machines[step.machine]
        admission = self._admitted(machine, step, view) if step.purpose is Purpose.JOIN else None
        given = script(self._wanted, machine, step.purpose, again=step.again, admission=admission)
        self._ask(step.machine, {"op": "begin", "id": step.started.id, **_packed(given)})

    def _admitted(self, machine: Candidate, step: Run, view: View) -> Admission:
        try:
            return self._admission(machine, step, view)
        except SshError as error:
            raise _NotNowError(f"control plane {step.via}: {error}") from error

    def _admission(self, machine: Candidate, step: Run, view: View) -> Admission:
        """A token of its own for each attempt to join; one that nobody used is void after minutes."""
        facts = view.facts(step.via)
        if facts is None or not facts.ca:
            raise RefusedError(f"control plane {step.via} does not tell the CA of the cluster")
        _check_authority(facts.ca)
        given = admitting(self._wanted, machine, self._machines[step.via])
        said = self._ask(step.via, self._question(machine, step, facts, given), _ASK_SECONDS)
        answers = msgspec.convert(said["said"], list[str])
        key = _found(_CERTIFICATE_KEY, answers[1], "certificate key") if machine.control_plane else ""
        token = _found(_TOKEN, answers[0], "token")
        return Admission(self._wanted.endpoint or place(facts.server), facts.ca, token, key)

    def _question(self, machine: Candidate, step: Run, facts: Facts, given: Script) -> dict[str, object]:
        purpose = admission(machine.name)
        last = facts.last(purpose)
        number = last.attempt + 1 if last is not None else 1
        record = Record(
            step.via, step.purpose, msgspec.structs.replace(step.started, id=f"{purpose}-{number}")
        )
        return {**self._recorded(record), "op": "ask", "limit": _ASK_SECONDS, **_packed(given)}


def _check_authority(certificate: str) -> None:
    """Before a token is made for nothing."""
    try:
        ca_hash(certificate)
    except NoCertificateError as error:
        raise RefusedError(f"{AUTHORITY} on it is no certificate: {error}") from error


def _asks(step: Step) -> tuple[str, ...]:
    """Which machines a step asks; first the one that it is about."""
    if isinstance(step, Run):
        return step.machine, step.via
    return (step.machine,) if isinstance(step, Claim | Record) else ()


def _packed(given: Script) -> dict[str, object]:
    files = {name: base64.b64encode(content).decode() for name, content in given.files.items()}
    return {"commands": given.commands, "files": files, "forget": given.forget}


def _found(shape: re.Pattern[str], said: str, what: str) -> str:
    found = shape.search(said)
    if found is None:
        raise RefusedError(f"kubeadm named no {what}")
    return found[0]
