"""What one layer tells of itself at one moment, as far as the commands that show it have to know.

A section is a plain value that a layer makes of its own objects. Whoever waits for the end of what the
layers do goes by `arrival` alone, which is never too early.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import msgspec


class Arrival(Enum):
    """How far a layer is for somebody who waits for its end.

    NOT_YET   also where it is stalled: somebody may help
    MOVED     the operator has seen what is asked for, and all of it is so
    GIVEN_UP  it will not come to that any more
    """

    NOT_YET = "not yet"
    MOVED = "moved"
    GIVEN_UP = "given up"


class Advice(msgspec.Struct, frozen=True):
    """What is wrong, and what would help."""

    message: str
    hint: str


class Section(Protocol):
    """One layer at one moment; equal to another where there is nothing new to show."""

    @property
    def arrival(self) -> Arrival: ...

    @property
    def stalled(self) -> str:
        """Why it goes on only when somebody helps; empty while it goes on by itself, or waits for nodes."""
        ...


class Act(Protocol):
    """What a layer does on the stage of the demo, at one moment."""

    @property
    def moved(self) -> bool:
        """All that it was asked for has been done."""
        ...

    @property
    def settled(self) -> bool:
        """It has nothing more to do, and says so."""
        ...

    @property
    def half_way(self) -> bool:
        """The moment that shows most."""
        ...
