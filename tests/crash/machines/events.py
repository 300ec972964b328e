"""What happened on machines: every program that ran there, every boot, in the order in which it was.

Programs of a machine write it down themselves, outside of what belongs to the machine, whoever reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from tests.crash.recorder import Change, Key, Trace

COMMAND = "Command"
CUT_OFF = "commands that were cut off"


class What(StrEnum):
    BEGAN = "began"
    MIDDLE = "middle"
    """It has left something behind, and is not through."""
    ENDED = "ended"
    BOOTED = "booted"
    RESET = "reset"
    """By a person who has looked."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line."""

    at: int
    """Nanoseconds of the clock that all processes of this computer share."""
    machine: str
    what: What
    id: int = 0
    """When the program began."""
    words: tuple[str, ...] = ()
    entry: str = ""
    """The command of the journal that ran it."""
    recorded: bool = False
    """Whether that was on record, and begun, when the program began."""
    code: int = 0
    cluster: str = ""
    """By the mark of the machine, when the program began."""
    first: str = ""
    control_plane: bool = False
    """Whether it joins as one."""

    @property
    def verb(self) -> str:
        """What it does, without what differs: `kubeadm join`."""
        return " ".join([self.words[0], *(one for one in self.words[1:] if one.isalpha())][:2])


class Command(msgspec.Struct, frozen=True):
    """A program from its beginning to its end, or to the moment when its machine had no power."""

    began: Event
    until: int
    ended: Event | None = None

    @property
    def machine(self) -> str:
        return self.began.machine

    @property
    def well(self) -> bool:
        return self.ended is not None and self.ended.code == 0


def read(paths: Iterable[Path]) -> list[Event]:
    """A line that was cut off by a power cut is none."""
    lines = [line for path in paths if path.exists() for line in path.read_bytes().splitlines()]
    found: list[Event] = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Event))
        except msgspec.DecodeError:
            continue
    return sorted(found, key=lambda one: one.at)


def commands(events: Sequence[Event]) -> list[Command]:
    """In the order in which they began."""
    ends = {(one.machine, one.id): one for one in events if one.what is What.ENDED}
    return [_command(one, ends, events) for one in events if one.what is What.BEGAN]


def _command(began: Event, ends: dict[tuple[str, int], Event], events: Sequence[Event]) -> Command:
    ended = ends.get((began.machine, began.id))
    if ended is not None:
        return Command(began, ended.at, ended)
    boots = [one.at for one in events if one.what is What.BOOTED and one.machine == began.machine]
    return Command(began, min((at for at in boots if at > began.at), default=events[-1].at))


def trace(events: Sequence[Event]) -> Trace:
    """As the harness has it: each program is an object that comes into being when it begins."""
    return Trace({}, tuple(_changes(events)))


def of(trace: Trace) -> list[Event]:
    """The same, back."""
    return [msgspec.convert(one.object["event"], Event) for one in trace.changes]


def _changes(events: Sequence[Event]) -> Iterator[Change]:
    cut = {one.began.at for one in commands(events) if one.ended is None}
    for number, event in enumerate(events):
        name = CUT_OFF if event.at in cut else _name(event)
        about = {"name": name, "uid": event.what.value}
        object_ = {"metadata": about, "event": msgspec.to_builtins(event), "status": {"phase": _told(event)}}
        yield Change(event.at, Key(COMMAND, event.machine, f"{number}"), object_)


def _name(event: Event) -> str:
    """What counts: that a program began, and for what."""
    if event.what is not What.BEGAN:
        return ""
    return f"{event.machine}: {event.entry.rpartition('-')[0]}: {event.verb}"


def _told(event: Event) -> str:
    return " ".join(filter(None, (event.entry, *event.words[:4], str(event.code or ""))))
