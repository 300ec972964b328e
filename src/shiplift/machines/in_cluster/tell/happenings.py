"""What is worth an Event on a MachinePool, and in which words: all is there, somebody has to help, and so on.
How far things are stands in the status. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shiplift.api.machines import MachinePoolStatus
from shiplift.api.values import Condition, ConditionStatus
from shiplift.engine.conditions import READY, STALLED
from shiplift.machines.in_cluster.model import Reason

_TOLD = (Reason.COMPLETE, Reason.LAPTOP_LEADS, Reason.PAUSED, Reason.MAKING)


class Happening(NamedTuple):
    """One Event: why, in one word, and in a line."""

    reason: str
    note: str
    warning: bool = False


def happenings(before: MachinePoolStatus, after: MachinePoolStatus) -> Iterator[Happening]:
    """What has happened between two statuses that were written."""
    was, now = _said(before, READY), _said(after, READY)
    if now is None or (was is not None and (was.status, was.reason) == (now.status, now.reason)):
        return
    if _holds(after, STALLED):
        yield Happening(now.reason, now.message, warning=True)
    elif now.reason in _TOLD:
        yield Happening(now.reason, now.message)


def _said(status: MachinePoolStatus, about: str) -> Condition | None:
    return next((one for one in status.conditions if one.type == about), None)


def _holds(status: MachinePoolStatus, about: str) -> bool:
    said = _said(status, about)
    return said is not None and said.status is ConditionStatus.TRUE
