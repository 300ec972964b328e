"""What this layer sees, and what it concludes; pure values."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shiplift.api.upgrade import HistoryEntry, Policy, Queued, UpgradeConfig, UpgradePhase
from shiplift.engine import versions
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.probes import Probe
from shiplift.engine.step import Outcomes, Step
from shiplift.facts.custom import Custom
from shiplift.outside.letters import Box
from shiplift.policy.config import Section
from shiplift.policy.document import Wanted


class Purpose(msgspec.Struct, frozen=True):
    """What the provider is asked for: by which settings, and for which wish to start."""

    source: str = ""
    refresh: str = ""
    """The text of the wish (`marks.REFRESH_ASKED`); empty where nobody is about to start."""


class Answer(msgspec.Struct, frozen=True):
    """What the provider said: its first policy, if it has any."""

    purpose: Purpose
    policy: Wanted | None


class Asking(msgspec.Struct, frozen=True):
    """How far asking the provider has come."""

    probe: Probe[Answer]
    last: Purpose | None = None
    """What the last attempt was for; None before the first."""
    pending: bool = False
    attempts: int = 0
    jitter: float = 0.0
    """From 0 to below 1, another after each attempt: no two clusters ask at the same time."""


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How the sync is going, for people; kept where no UpgradeConfig could say it."""

    provider: str = ""
    trouble: str = ""
    since: datetime | None = None
    """When the trouble began."""
    last_sync_time: datetime | None = None
    """When the provider had last been asked with success, as of when this was written."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known."""

    config: Section | None
    """None where there was never a good one."""
    config_trouble: str = ""
    asking: Asking
    current: Custom | None = None
    """The UpgradeConfig."""
    unsure: str = ""
    """Why nobody knows whether `current` is all that there is: rows are old, or one cannot be read."""
    box: Box | None = None
    """What is still to be reported; None where that cannot be read."""
    box_trouble: str = ""
    """Why it cannot be."""
    record: Record | None = None
    """None where it cannot be read."""
    record_trouble: str = ""
    """Why it cannot be, or was not taken when it was last written."""
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class Judgement(msgspec.Struct, frozen=True):
    """What the first gate that closes says: what to do about the UpgradeConfig, and what to tell."""

    steps: tuple[Step, ...] = ()
    trouble: str = ""
    queued: Queued | None = None
    lost: bool = False


class Syncing(Decision, frozen=True):
    """What to do, and what to tell where."""

    record: Record | None = None
    """None where there is nothing new to tell."""
    told: tuple[UpgradeConfig, Policy | None] | None = None
    """The UpgradeConfig whose `status.policy` is to become this."""
    alarm: str = ""
    """What has to be told by an Event alone, since the record cannot."""


def config_of(row: Custom) -> UpgradeConfig:
    """The object of a row."""
    return row.object


def has_started(config: UpgradeConfig) -> bool:
    """Whether the upgrade that the spec asks for has begun, however it went on. One that is over may have
    been another: its start stays in the status until the next is taken up."""
    past = any(is_of_the_spec(one, config) for one in config.status.history)
    untold = config.status.start_time is not None and not config.status.history
    return is_running(config) or past or untold


def is_of_the_spec(one: HistoryEntry, config: UpgradeConfig) -> bool:
    """Whether an upgrade that is on record is the one that the spec asks for. One that was aborted is that
    only while the abort stands: it is withdrawn with another version, and whoever asks for the first one
    again asks for an upgrade that has not begun."""
    begun = (one.start_time or one.complete_time) is not None
    same = versions.goal(one.version) == versions.goal(config.spec.desired.version or "")
    return begun and same and (one.phase is not UpgradePhase.FAILED or config.spec.abort)


def is_running(config: UpgradeConfig) -> bool:
    """Whether an upgrade has begun and is not over: for as long as it goes somewhere, also where it has
    stopped and waits for somebody."""
    return config.status.target_version is not None
