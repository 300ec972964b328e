"""What is worth an Event on the UpgradeConfig, and in which words: it started, a step began, it needs
somebody, it goes on by itself again, it ended. How far things are stands in the status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shiplift.api.upgrade import UpgradeConfigStatus, UpgradePhase
from shiplift.api.values import ConditionStatus
from shiplift.upgrade.model import Reason

_STEPS = (
    Reason.CONTROL_PLANE,
    Reason.NODES,
    Reason.WORKLOADS,
    Reason.SERVICES,
    Reason.OPERATORS,
    Reason.CHECKING,
    Reason.CLEANING_UP,
)
_BY_ITSELF = (
    Reason.PAUSED,
    Reason.REFRESHING,
    Reason.WINDOW_CLOSED,
    Reason.NOT_DUE,
    Reason.ABORTING,
    Reason.NEEDS_APPROVAL,
)
"""Nothing is wrong: somebody wants it so, or it passes."""


class Happening(NamedTuple):
    """One Event: why, in one word, and in a line."""

    reason: str
    note: str
    warning: bool = False


def happenings(before: UpgradeConfigStatus, after: UpgradeConfigStatus) -> Iterator[Happening]:
    """What has happened between two statuses that were written."""
    if after.target_version is not None and before.target_version is None:
        yield Happening("Started", after.message)
        return
    if after.phase is UpgradePhase.UPGRADED and before.phase is not UpgradePhase.UPGRADED:
        yield Happening(Reason.UPGRADED, after.message)
        return
    if after.reason == Reason.ABORTED and before.reason != Reason.ABORTED:
        yield Happening(Reason.ABORTED, after.message, warning=True)
        return
    if after.reason == Reason.DELETED:
        if before.target_version is not None and after.target_version is None:
            yield Happening(Reason.DELETED, after.message, warning=True)
        return
    same = after.reason == before.reason
    if after.reason is None or (same and _stalled(after) == _stalled(before)):
        return
    if (why := _stalled(after)) is not None:
        yield Happening(why, after.message, warning=True)
    elif not same and after.reason in (*_STEPS, *_BY_ITSELF):
        yield Happening(after.reason, after.message)
    elif _stalled(before) is not None:
        yield Happening("GoesOn", after.message)


def _stalled(status: UpgradeConfigStatus) -> str | None:
    """Why somebody has to help; None where nobody has to."""
    true = (one for one in status.conditions if one.status is ConditionStatus.TRUE)
    return next((one.reason for one in true if one.type == "Stalled"), None)
