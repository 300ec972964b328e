"""Plans: what is to go wrong in one run, as data. One small file each, and a file replays."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from pathlib import Path

import msgspec


class CrashPoint(StrEnum):
    """When the process is killed, at a write. Before a write is after the one before it."""

    BEFORE_REPLY = "after commit, before reply"
    AFTER_REPLY = "after reply"


class Failure(StrEnum):
    """What a call is answered instead of the truth; nothing reaches the server but in the last one."""

    CONFLICT = "409"
    THROTTLED = "429"
    ERROR = "500"
    TIMEOUT = "504"
    RESET = "reset"
    LOST = "timeout after commit"


class Disturbance(StrEnum):
    """What happens to the events of a watched kind."""

    DELAYED = "delayed"
    CUT = "cut after a dropped event"
    EXPIRED = "410"


class Spot(msgspec.Struct, frozen=True):
    """A call, by its step kind, its object (empty: any) and which time it is, from 1.

    A step kind of somebody else than the API server has their name in front.
    """

    step: str
    about: str = ""
    occurrence: int = 1

    def __str__(self) -> str:
        return f"{self.step}{' ' + self.about if self.about else ''} #{self.occurrence}"


class Clean(msgspec.Struct, frozen=True, tag="clean"):
    """Nothing goes wrong."""

    def __str__(self) -> str:
        return "clean"


class Crash(msgspec.Struct, frozen=True, tag="crash"):
    """The process that makes a write is killed at it, and started again at once."""

    at: Spot
    point: CrashPoint

    def __str__(self) -> str:
        return f"crash {self.point}: {self.at}"


class Fault(msgspec.Struct, frozen=True, tag="fault"):
    """One call is answered falsely or not at all."""

    at: Spot
    failure: Failure

    def __str__(self) -> str:
        return f"fault {self.failure}: {self.at}"


class Watching(msgspec.Struct, frozen=True, tag="watch"):
    """The events of a kind come late, or break off at the given one (0: as soon as it is synced)."""

    resource: str
    disturbance: Disturbance
    event: int = 0

    def __str__(self) -> str:
        return f"watch {self.disturbance}: {self.resource} event {self.event}"


class Pause(msgspec.Struct, frozen=True, tag="pause"):
    """The leader is stopped with a write on its way; another leads; the write arrives, the first wakes."""

    at: Spot

    def __str__(self) -> str:
        return f"pause: {self.at}"


class Outage(msgspec.Struct, frozen=True, tag="outage"):
    """From a call on, the API server is away for a while, for everybody who goes through a proxy."""

    at: Spot
    seconds: float

    def __str__(self) -> str:
        return f"outage of {self.seconds:.0f} s: {self.at}"


class How(StrEnum):
    """What becomes of a command that is sent to a machine over SSH."""

    REQUEST = "in the middle of the request"
    ANSWER = "in the middle of the answer"
    STALLED = "stalled before the answer"
    REFUSED = "refused for a while"


class Unsent(msgspec.Struct, frozen=True, tag="unsent"):
    """The process is killed with a command for a machine on its way, which never arrives."""

    at: Spot

    def __str__(self) -> str:
        return f"crash before the command arrives: {self.at}"


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """The connection to a machine breaks at a command."""

    at: Spot
    how: How

    def __str__(self) -> str:
        return f"cut {self.how}: {self.at}"


class Restart(msgspec.Struct, frozen=True, tag="restart"):
    """The machine loses its power in the middle of what a command began, and starts again."""

    at: Spot

    def __str__(self) -> str:
        return f"power cut: {self.at}"


Trouble = Clean | Crash | Fault | Watching | Pause | Outage | Unsent | Cut | Restart


class Plan(msgspec.Struct, frozen=True):
    """One run: which scenario of which layer, and what goes wrong in it."""

    layer: str
    scenario: str
    trouble: Trouble = Clean()

    def __str__(self) -> str:
        return f"{self.scenario}: {self.trouble}"

    @property
    def file_name(self) -> str:
        digest = hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()
        return f"{self.layer}-{self.scenario}-{digest[:10]}.json"


def read(path: Path) -> Plan:
    return msgspec.json.decode(path.read_bytes(), type=Plan)


def write(plan: Plan, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / plan.file_name
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")
    return path
