"""Steps that cannot be taken (a right is missing, the server refuses a hook) are told where they are wanted:
in the message of their node, or of the rollout. That part of a message is made anew at every look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from shiplift.api.nodes import NodeStatus
from shiplift.engine import retries
from shiplift.engine.step import Outcomes, Step
from shiplift.nodes.model import Reason

_MARK = " (cannot be done: "
_LONGEST = 2000
_PATIENCE = timedelta(seconds=30)
"""What cannot be done for so long, somebody has to look at."""


def without(record: NodeStatus) -> NodeStatus:
    """A record as it was before anything was added to its message."""
    if _MARK not in record.message:
        return record
    return msgspec.structs.replace(record, message=record.message.partition(_MARK)[0])


def is_told(record: NodeStatus) -> bool:
    """Whether something cannot be done to the node."""
    return _MARK in record.message


def stuck(record: NodeStatus, now: datetime) -> tuple[Reason, str] | None:
    """That something cannot be done to the node, once that has been so for a while."""
    since = record.last_transition_time or now
    long = is_told(record) and now - since >= _PATIENCE
    return (Reason.CANNOT_BE_DONE, record.message) if long else None


def added(outcomes: Outcomes, steps: Iterable[Step]) -> str:
    """What to add to a message about these steps: the first that failed when it was last tried."""
    why = next(retries.failures(outcomes, steps), "")
    return f"{_MARK}{why[:_LONGEST]})" if why else ""


def told(outcomes: Outcomes, record: NodeStatus, steps: Iterable[Step]) -> NodeStatus:
    more = added(outcomes, steps)
    return msgspec.structs.replace(record, message=record.message + more) if more else record
