"""What has to get out, in order for each receiver: pure values.

A letter stays until it was delivered, so it gets out at least once; the same letter, put in again, is there
once. Only the first letter of each receiver may be sent, so letters arrive in order. The box is bounded:
where it is full the oldest letter goes, whosever it is, and that is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

MOST = 200
"""Letters in a box."""
MOST_BYTES = 16 << 10
"""Of one letter's body."""
MOST_IN_ALL = 512 << 10
"""Bytes of all bodies: a ConfigMap holds no more than twice that."""


class Letter(msgspec.Struct, frozen=True):
    """One thing to tell one receiver; `id` is the same each time that it is put in."""

    id: str
    receiver: str
    at: datetime
    body: str = ""

    def __post_init__(self) -> None:
        if not self.id or not self.receiver:
            raise ValueError("a letter needs an id and a receiver")
        if self.size > MOST_BYTES:
            raise ValueError(f"letter {self.id} has {self.size} bytes, more than {MOST_BYTES}")

    @property
    def size(self) -> int:
        return len(self.body.encode())


class Box(msgspec.Struct, frozen=True, omit_defaults=True):
    """The letters that are on their way, the oldest first."""

    letters: tuple[Letter, ...] = ()
    dropped: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])
    """By receiver: letters that went unsent because the box was full."""
    last: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """By receiver: the id of the letter that was put in last, whatever became of it."""

    @property
    def heads(self) -> tuple[Letter, ...]:
        """The first letter of each receiver: these may be sent now."""
        first: dict[str, Letter] = {}
        for letter in self.letters:
            first.setdefault(letter.receiver, letter)
        return tuple(first.values())

    def put(self, letters: Iterable[Letter]) -> Box:
        """With these at the end; one that is in already, or was the last for its receiver, is not put in."""
        box = self
        for letter in letters:
            known = any((one.receiver, one.id) == (letter.receiver, letter.id) for one in box.letters)
            if not known and box.last.get(letter.receiver) != letter.id:
                last = {**box.last, letter.receiver: letter.id}
                box = msgspec.structs.replace(box, letters=(*box.letters, letter), last=last)._fitting()
        return box

    def done(self, letter: Letter) -> Box:
        """Without that letter."""
        left = (one for one in self.letters if (one.receiver, one.id) != (letter.receiver, letter.id))
        return msgspec.structs.replace(self, letters=tuple(left))

    def _fitting(self) -> Box:
        """Without the oldest, as far as there is no room for them."""
        letters, dropped = list(self.letters), dict(self.dropped)
        while len(letters) > MOST or sum(one.size for one in letters) > MOST_IN_ALL:
            gone = letters.pop(0)
            dropped[gone.receiver] = dropped.get(gone.receiver, 0) + 1
        return msgspec.structs.replace(self, letters=tuple(letters), dropped=dropped)


def read(text: str) -> Box:
    """A box as it was kept; a `ValueError` where it is none."""
    return msgspec.json.decode(text, type=Box) if text else Box()


def written(box: Box) -> str:
    return msgspec.json.encode(box).decode()
