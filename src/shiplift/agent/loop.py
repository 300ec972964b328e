"""The agent's loop over its two sides: a door to the API server, and hands on the machine.

A loop reads both, decides, and carries out the actions in their order; where one cannot be carried out, the
rest is left, and the next loop decides anew. The loop itself remembers only when it last wrote, for the
heartbeat: an agent that is killed at any point and started again goes on. Where a record cannot be written to
the machine's disk, it is decided once more, with that known: the Node hears of it, and nothing is begun.
"""

from __future__ import annotations

from typing import Protocol

from shiplift.agent.decide import decide
from shiplift.agent.errors import AgentError, NotKeptError
from shiplift.agent.model import Action, Begin, Decision, Keep, Machine, Record, Restart, Seen, Write
from shiplift.agent.protocol import current_versions, desired_versions

AT_REST, AT_WORK = 60.0, 10.0
"""Seconds after which a heartbeat is written of its own. A thousand nodes at rest are then some 17 writes a
second, which every watch of Nodes hears."""


class Door(Protocol):
    """The API server, to an agent: its own Node and nothing else."""

    def read(self) -> Seen | None:
        """The Node as it is stored now, never older than what `write` was answered with; None where it cannot
        be read, or is not there."""
        ...

    def write(self, write: Write) -> bool:
        """Whether the annotations were written: False where the Node has moved on, or no answer came."""
        ...


class Hands(Protocol):
    """The machine, to an agent. Each operation can be begun again after it was interrupted anywhere."""

    def observe(self, wanted: frozenset[str]) -> Machine:
        """The machine as it is now, with the versions of that software, where there are such packages."""
        ...

    def keep(self, record: Record) -> None:
        """Write it to the disk, whole or not at all, before this returns."""
        ...

    def begin(self, record: Record) -> None:
        """Begin its operation and return; where its work runs already, that is the work. The work runs apart
        from the agent: it goes on when the agent ends."""
        ...

    def restart(self) -> None:
        """Restart the machine; this may return before it is."""
        ...


class Loop:
    """One agent: `once` is one loop, at a time that only has to go on."""

    def __init__(self, door: Door, hands: Hands, version: str, at_rest: float = AT_REST) -> None:
        self._door = door
        self._hands = hands
        self._version = version
        self._at_rest = at_rest
        self._wrote: float | None = None
        self._busy = False
        self.restarting = False
        """Whether the machine was told to restart in the last loop."""
        self.failed = False
        """Whether the Node was not read, or not written, in the last loop."""

    @property
    def due(self) -> float | None:
        """When the heartbeat is due; None while nothing was written yet: then it is."""
        if self._wrote is None:
            return None
        return self._wrote + (min(AT_WORK, self._at_rest) if self._busy else self._at_rest)

    def once(self, now: float) -> Decision:
        """What was decided; nothing, where the Node cannot be read."""
        self.restarting = False
        seen = self._door.read()
        self.failed = seen is None
        if seen is None:
            return Decision(says="the Node cannot be read")
        machine = self._hands.observe(_wanted(seen))
        due = self.due is None or now >= self.due
        try:
            return self._carried_out(decide(seen, machine, self._version, due=due), now)
        except NotKeptError as error:
            return self._carried_out(decide(seen, machine, self._version, due=due, unkept=str(error)), now)

    def _carried_out(self, decision: Decision, now: float) -> Decision:
        self._busy = decision.busy
        for action in decision.actions:
            if not self._carry_out(action, now):
                break
        return decision

    def _carry_out(self, action: Action, now: float) -> bool:
        match action:
            case Keep(record):
                self._keep(record)
            case Begin(record):
                self._hands.begin(record)
            case Restart():
                self._hands.restart()
                self.restarting = True
            case Write():
                if not self._door.write(action):
                    self.failed = True
                    return False
                self._wrote = now
        return True

    def _keep(self, record: Record) -> None:
        try:
            self._hands.keep(record)
        except OSError as error:
            raise NotKeptError(error.strerror or str(error)) from error
        except AgentError as error:
            raise NotKeptError(str(error)) from error


def _wanted(seen: Seen) -> frozenset[str]:
    """The software that somebody speaks of on the Node."""
    return frozenset(desired_versions(seen.annotations)) | frozenset(current_versions(seen.annotations))
