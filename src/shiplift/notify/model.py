"""What this layer sees, and what it concludes; pure values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from shiplift.api.upgrade import Notify, UpgradeConfig
from shiplift.api.values import SecretKey
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes, Step
from shiplift.outside.letters import Box, Letter


class Addressed(msgspec.Struct, frozen=True):
    """The body of a letter: where it goes, so that it gets there also when the UpgradeConfig is gone."""

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
        return f"shiplift: upgrade {self.upgrade}"


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
    held: Mapping[str, Held] = {}
    """Silences by the name of their receiver."""
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

    @property
    def key(self) -> str:
        return f"deliver {self.letter.receiver}/{self.letter.id}"

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
        return f"hold silence {self.silence.name}"

    @property
    def lane(self) -> str:
        return f"silence {self.silence.name}"

    def describe(self) -> str:
        return f"silence alerts of {self.silence.name} until {self.until:%H:%M:%S}"


class EndSilence(Step, frozen=True):
    """Alerts are heard again."""

    aside: ClassVar[bool] = True
    silence: Silence

    @property
    def key(self) -> str:
        return f"end silence {self.silence.name}"

    @property
    def lane(self) -> str:
        return f"silence {self.silence.name}"

    def describe(self) -> str:
        return f"end the silence of {self.silence.name}"


class Notifying(Decision, frozen=True):
    """What follows."""
