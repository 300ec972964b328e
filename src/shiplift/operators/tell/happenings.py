"""What is worth an Event, and in which words: a condition that came to hold or ceased to, or another reason
why it does not. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shiplift.api.values import Condition, ConditionStatus, Status
from shiplift.operators.model import NEED_SOMEBODY, About, Reason

_QUIET = frozenset(
    {
        Reason.READING,
        Reason.MAKING,
        Reason.NOTHING_YET,
        Reason.NOT_INSTALLED_YET,
        Reason.STALE_VIEW,
        Reason.CHECKING_CRDS,
        Reason.CHECKING_RIGHTS,
        Reason.BEING_REPLACED,
    }
)
"""On the way; the next thing that happens says more."""
_OURS = (*About, "Ready")


class Happening(NamedTuple):
    """One Event: why, in one word, and in a line."""

    reason: str
    note: str
    warning: bool = False


def happenings(before: Status, after: Status) -> Iterator[Happening]:
    """What has happened between two statuses that were written; the same thing once."""
    was = {one.type: one for one in before.conditions}
    told: set[tuple[str, str]] = set()
    for one in after.conditions:
        if one.type in _OURS and _is_news(was.get(one.type), one) and (one.reason, one.message) not in told:
            told.add((one.reason, one.message))
            yield Happening(one.reason, one.message or one.reason, one.reason in NEED_SOMEBODY)


def _is_news(before: Condition | None, after: Condition) -> bool:
    if after.reason in _QUIET or (after.type == "Ready" and after.status is not ConditionStatus.TRUE):
        return False
    return before is None or (before.status, before.reason) != (after.status, after.reason)
