"""What machines say, asked over SSH: all at once, again and again; what one last said in this run is kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from shiplift.machines.model import Facts, Silent
from shiplift.machines.names import AGENT, FOLDER
from shiplift.machines.pools import Candidate, Wanted
from shiplift.machines.rests import Rests
from shiplift.machines.ssh.door import Answer, Door, Target
from shiplift.machines.ssh.errors import NotTrustedError, SshError

LOOK_SECONDS = 30.0
_ASLEEP = timedelta(minutes=5)
"""So long no round takes: this computer slept, and knows nothing of what hosts did meanwhile."""
Clock = Callable[[], datetime]


def target(machine: Candidate) -> Target:
    host = machine.host
    return Target(host.name, host.address, host.port, host.host_key, machine.user)


class Hosts:
    """The eyes of one run."""

    def __init__(self, door: Door, wanted: Wanted, folder: str = FOLDER) -> None:
        self._door = door
        self._targets = {target(one): one for one in wanted.candidates}
        self._folder = folder
        self._seen: dict[str, Facts] = {}
        self._silent: dict[str, datetime] = {}
        self._rests = Rests()
        self._looked: datetime | None = None
        self._last: dict[str, Facts | Silent] = {}
        self.api_silent_since: datetime | None = None
        """The first look of those in a row at which no control plane told the nodes of the cluster."""

    def look(self, clock: Clock) -> dict[str, Facts | Silent]:
        """Every host: what it says, or that it is silent. Who is, is silent since the end of the look: this
        computer may have slept in the middle of it."""
        begun = clock()
        asked = [one for one in self._targets if begun >= self.rests_until(one.name)]
        requests = {one: self._request(self._targets[one]) for one in asked}
        found = self._door.ask_all(requests, LOOK_SECONDS)
        now = clock()
        self._forget_what_was_slept_through(now)
        self._last |= {one.name: self._read(one.name, said, now) for one, said in found.items()}
        told = any(isinstance(one, Facts) and one.nodes is not None for one in self._last.values())
        self.api_silent_since = None if told else self.api_silent_since or now
        return {one.name: self._last[one.name] for one in self._targets}

    def rests_until(self, name: str) -> datetime:
        """Before then a host is not asked."""
        return self._rests.until(name)

    def _forget_what_was_slept_through(self, now: datetime) -> None:
        if self._looked is not None and now - self._looked > _ASLEEP:
            self._silent.clear()
            self.api_silent_since = None
        self._looked = now

    def _request(self, machine: Candidate) -> dict[str, object]:
        return {"op": "facts", "folder": self._folder, "packages": [*machine.packages(), AGENT]}

    def _read(self, name: str, said: Answer | SshError, now: datetime) -> Facts | Silent:
        try:
            facts = said if isinstance(said, SshError) else msgspec.convert(said, Facts, strict=False)
        except msgspec.ValidationError as error:
            facts = SshError(f"what it says of itself cannot be read: {error}")
        if isinstance(facts, Facts):
            self._silent.pop(name, None)
            self._rests.answered(name)
            self._seen[name] = facts
            return facts
        since = self._silent.setdefault(name, now)
        self._rests.failed(name, facts.took, now)
        final = isinstance(facts, NotTrustedError)
        return Silent(str(facts), since, final, self._seen.get(name), facts.hint)
