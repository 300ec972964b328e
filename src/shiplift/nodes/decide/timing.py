"""Windows: a node is begun only while one is open for as long as a node is expected to take."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median

from shiplift.api.nodes import NodeRollout
from shiplift.api.values import duration
from shiplift.api.windows import complaint, opening, windows_of
from shiplift.engine.durations import as_written
from shiplift.engine.windows import WindowError
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.model import Reason


def expected(rollout: NodeRollout) -> timedelta:
    """How long a node takes: as told, else as measured; nothing where neither is known."""
    return told(rollout) or _measured(rollout)


def told(rollout: NodeRollout) -> timedelta:
    text = rollout.spec.expected_node_duration
    return duration(text) if text else timedelta(0)


def _measured(rollout: NodeRollout) -> timedelta:
    """Never more than half of the longest window: a few slow nodes do not keep all others from beginning."""
    seconds = rollout.status.durations
    found = timedelta(seconds=int(median(seconds))) if seconds else timedelta(0)
    windows = [duration(one.duration) for one in rollout.spec.windows]
    return min(found, max(windows) / 2) if windows else found


def unusable(course: Course) -> Line | None:
    """A window that cannot be read, or that no node fits into: said before anything is begun."""
    if wrong := complaint(course.spec.windows):
        return Line(Reason.UNREADABLE, f"{_whose(course)}: {wrong}", stalled=True)
    try:
        windows_of(course.spec.windows).refuse_shorter_than(told(course.rollout))
    except WindowError as error:
        text = f"{_whose(course)}: {error}; {error.hint}, or lower expectedNodeDuration"
        return Line(Reason.WINDOW_TOO_SHORT, text, stalled=True)
    return None


def _whose(course: Course) -> str:
    return f"spec.windows of NodeRollout {course.rollout.metadata.name}"


def closed(course: Course) -> Line | None:
    """When the next node may be begun; None where one may be now."""
    windows, takes = windows_of(course.spec.windows), expected(course.rollout)
    if windows.fits(course.now, takes):
        return None
    opens = windows.next_fit(course.now, takes)
    for_how_long = f" for the {as_written(takes)} that a node takes" if takes else ""
    return Line(Reason.WINDOW_CLOSED, f"no window is open{for_how_long}; {opening(opens)}", due=opens)


def may_begin(rollout: NodeRollout, now: datetime) -> bool:
    """Whether a node that was chosen may still be begun."""
    try:
        return windows_of(rollout.spec.windows).open_at(now)
    except (WindowError, ValueError):
        return False


def next_window(rollout: NodeRollout, now: datetime) -> datetime | None:
    """When the next window opens, where none is open; nothing of windows that cannot be used."""
    try:
        windows = windows_of(rollout.spec.windows)
        windows.refuse_shorter_than(told(rollout))
    except (WindowError, ValueError):
        return None
    return None if windows.open_at(now) else windows.next_open(now)
