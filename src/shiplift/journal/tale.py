"""What is told of one thing: its entries and its waits, as many as there is room for.

The first and the last are kept; of those between, what there was no room for is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from shiplift.journal.model import LONGEST, MOST_EACH, Entry, Wait

_A_MOMENT = timedelta(seconds=1)
"""What waits no longer than this has not waited."""
T = TypeVar("T")


def short(text: str) -> str:
    """In one line that there is room for."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


class Tale:
    """Told as things happen; from one thread."""

    def __init__(
        self, entries: Iterable[Entry] = (), waits: Iterable[Wait] = (), more: int = 0, most: int = MOST_EACH
    ) -> None:
        self._entries, self._waits, self._most = list(entries), list(waits), most
        self.more = more

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    @property
    def waits(self) -> tuple[Wait, ...]:
        return tuple(self._waits)

    def tell(self, at: datetime, text: str) -> None:
        line = short(text)
        if self._entries and self._entries[-1].text == line:
            return
        self._put(self._entries, Entry(at=at, text=line))

    def waits_for(self, at: datetime, reason: str, cause: str = "", about: str = "") -> None:
        """Something is waited for; the same as before goes on, with what it is about by now."""
        line, last = short(cause), self._open()
        if last is not None and (last.reason, last.about) == (reason, about):
            self._waits[-1] = msgspec.structs.replace(last, cause=line)
            return
        self.goes_on(at)
        self._put(self._waits, Wait(start=at, reason=reason, cause=line, about=about))

    def goes_on(self, at: datetime) -> None:
        """Nothing is waited for any more."""
        last = self._open()
        if last is None:
            return
        if at - last.start < _A_MOMENT:
            self._waits.pop()
        else:
            self._waits[-1] = msgspec.structs.replace(last, end=at)

    def _open(self) -> Wait | None:
        return self._waits[-1] if self._waits and self._waits[-1].end is None else None

    def _put(self, into: list[T], one: T) -> None:
        into.append(one)
        if len(into) > self._most:
            into.pop(self._most // 2)
            self.more += 1
