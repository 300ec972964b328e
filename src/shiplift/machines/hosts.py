"""What machines say, asked over SSH: all at once, again and again; what one last said in this run is kept."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from shiplift.machines.decide.stages import AGENT
from shiplift.machines.model import Facts, Silent
from shiplift.machines.names import FOLDER
from shiplift.machines.pools import Candidate, Wanted
from shiplift.machines.ssh.door import Answer, Door, Target
from shiplift.machines.ssh.errors import NotTrustedError, SshError

LOOK_SECONDS = 30.0
_SLOW = timedelta(seconds=15)
"""A host that took all of its time to say nothing is asked so much later: a round waits for everybody."""


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
        self._not_before: dict[str, datetime] = {}
        self._last: dict[str, Facts | Silent] = {}

    def look(self, now: datetime) -> dict[str, Facts | Silent]:
        """Every host: what it says, or that it is silent."""
        asked = [one for one in self._targets if now >= self._not_before.get(one.name, now)]
        requests = {one: self._request(self._targets[one]) for one in asked}
        found = self._door.ask_all(requests, LOOK_SECONDS)
        self._last |= {one.name: self._read(one.name, said, now) for one, said in found.items()}
        return {one.name: self._last[one.name] for one in self._targets}

    def _request(self, machine: Candidate) -> dict[str, object]:
        return {"op": "facts", "folder": self._folder, "packages": [*machine.packages(), AGENT]}

    def _read(self, name: str, said: Answer | SshError, now: datetime) -> Facts | Silent:
        try:
            facts = said if isinstance(said, SshError) else msgspec.convert(said, Facts, strict=False)
        except msgspec.ValidationError as error:
            facts = SshError(f"what it says of itself cannot be read: {error}")
        if isinstance(facts, Facts):
            self._silent.pop(name, None)
            self._seen[name] = facts
            return facts
        since = self._silent.setdefault(name, now)
        self._not_before[name] = now + _SLOW if facts.slow else now
        return Silent(str(facts), since, isinstance(facts, NotTrustedError), self._seen.get(name))
