"""What is worth an Event, and in which words. Pure.

That a step of a swap begins, that it cannot go on by itself, that it can again, and that it ended. What is
waited for from moment to moment stands in the status.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shiplift.api.quorum import QuorumServiceStatus, QuorumStep
from shiplift.api.values import ConditionStatus
from shiplift.quorum.model import Reason


class Happening(NamedTuple):
    """One Event: why, in one word, and in a line."""

    reason: str
    note: str
    warning: bool = False


_TOLD = (
    Reason.VALIDATING,
    Reason.REHEARSING,
    Reason.UPDATING_STATEFUL_SETS,
    Reason.STAGING,
    Reason.SWITCHING,
    Reason.RECREATING,
    Reason.PUTTING_BACK,
    Reason.FINISHING,
    Reason.PAUSED,
)
"""Each when it begins."""
_WARNED = (Reason.REPLACING_RESTARTED, Reason.SWAPPED_BY_ANOTHER)


def of_service(before: QuorumServiceStatus, after: QuorumServiceStatus) -> Iterator[Happening]:
    """What has happened between two statuses that were written."""
    was, now = _stalled(before), _stalled(after)
    if now and now != was:
        yield Happening(now, after.message, warning=True)
    elif was and not now and after.reason != Reason.AT_TARGET:
        yield Happening("GoesOn", "it goes on by itself again")
    if now or after.reason == before.reason:
        return
    if after.reason == Reason.AT_TARGET and before.step is not QuorumStep.IDLE:
        yield Happening("AtTarget", after.message)
    elif after.reason in _TOLD or after.reason in _WARNED:
        yield Happening(str(after.reason), after.message, warning=after.reason in _WARNED)


def _stalled(status: QuorumServiceStatus) -> str:
    """In one word why it does not go on by itself; empty where it does."""
    true = (one for one in status.conditions if one.status is ConditionStatus.TRUE)
    return next((one.reason for one in true if one.type == "Stalled"), "")
