"""What this layer sees, and what it concludes; pure values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

import msgspec

from shiplift.api.upgrade import Notify, UpgradeConfig
from shiplift.api.values import SecretKey
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes, Step
from shiplift.outside.letters import Box, Letter

LASTS, RENEWED = timedelta(minutes=5), timedelta(minutes=1)
"""How long a silence lasts, and when it is renewed."""


class Address(msgspec.Struct, frozen=True):
    """Where a receiver is, as the UpgradeConfig says now."""

    url: str
    token: SecretKey | None = None

    @property
    def digest(self) -> str:
        """Tells it from another; the address itself may hold a secret."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]


class Addressed(msgspec.Struct, frozen=True):
    """The body of a letter; where it goes counts only when the UpgradeConfig is gone."""

    url: str
    event: dict[str, Any]
    token: SecretKey | None = None


class Silence(msgspec.Struct, frozen=True):
    """Whose alerts are silenced, and for which upgrade."""

    name: str
    url: str
    upgrade: str
    """The uid of the UpgradeConfig."""
    token: SecretKey | None = None
    matchers: Mapping[str, str] = {}

    @classmethod
    def of(cls, receiver: Notify, upgrade: str) -> Silence:
        return cls(receiver.name, receiver.url, upgrade, receiver.token, dict(receiver.matchers))

    @property
    def comment(self) -> str:
        """What it is found by: one Alertmanager may have several of one upgrade."""
        return f"shiplift: upgrade {self.upgrade}, {self.name}"

    @property
    def place(self) -> str:
        """Whose it is, and where: another address is another silence."""
        return f"{self.name} {Address(self.url).digest}"


class Held(msgspec.Struct, frozen=True):
    """A silence that this process holds, and when it was last renewed."""

    silence: Silence
    at: datetime


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known."""

    upgrade: UpgradeConfig | None = None
    unsure: bool = False
    """Whether what is known of the UpgradeConfig may be old, or cannot be read."""
    box: Box | None = None
    """What is still to be told; None where that cannot be read."""
    trouble: str = ""
    """Why the outbox cannot be read, or what is wrong with the settings."""
    held: Mapping[str, Held] = {}
    """Silences by their place."""
    outcomes: Outcomes = Outcomes()


class Put(Step, frozen=True):
    """Put what is to be told into the outbox."""

    letters: tuple[Letter, ...]

    @property
    def key(self) -> str:
        return f"put {' '.join(f'{one.receiver}/{one.id}' for one in self.letters)}"

    def describe(self) -> str:
        return f"note to tell {', '.join(f'{one.receiver} {one.id}' for one in self.letters)}"


class Deliver(Step, frozen=True):
    """Tell what the outbox holds first for a receiver."""

    aside: ClassVar[bool] = True
    letter: Letter
    to: Address | None = None
    """Where its receiver is now; None where nobody says so any more, and the letter itself does."""

    @property
    def key(self) -> str:
        at = f" at {self.to.digest}" if self.to is not None else ""
        return f"deliver {self.letter.receiver}/{self.letter.id}{at}"

    @property
    def lane(self) -> str:
        return self.letter.receiver

    def describe(self) -> str:
        return f"tell {self.letter.receiver} {self.letter.id}"


class Forget(Step, frozen=True):
    """Take out of the outbox what is for nobody any more."""

    letter: Letter

    @property
    def key(self) -> str:
        return f"forget {self.letter.receiver}/{self.letter.id}"

    def describe(self) -> str:
        return f"leave {self.letter.id} untold: {self.letter.receiver} is named no more"


class HoldSilence(Step, frozen=True):
    """Alerts are silenced for some minutes more."""

    aside: ClassVar[bool] = True
    silence: Silence
    until: datetime

    @property
    def key(self) -> str:
        return f"hold silence {self.silence.place}"

    @property
    def lane(self) -> str:
        return f"silence {self.silence.place}"

    def describe(self) -> str:
        return f"silence alerts of {self.silence.name} until {self.until:%H:%M:%S}"


class EndSilence(Step, frozen=True):
    """Alerts are heard again."""

    aside: ClassVar[bool] = True
    silence: Silence

    @property
    def key(self) -> str:
        return f"end silence {self.silence.place}"

    @property
    def lane(self) -> str:
        return f"silence {self.silence.place}"

    def describe(self) -> str:
        return f"end the silence of {self.silence.name}"


class Notifying(Decision, frozen=True):
    """What follows, and what somebody should know of it."""

    troubles: tuple[str, ...] = ()
    about: str = ""
    """The uid of the UpgradeConfig."""
