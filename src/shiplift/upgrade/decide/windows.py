"""Windows: the upgrade starts, and each of its steps is begun, only while one is open."""

from __future__ import annotations

from shiplift.api.windows import complaint, opening, windows_of
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import Line, Reason, Stage


def unusable(course: Course) -> Line | None:
    """A window that cannot be read."""
    wrong = complaint(course.spec.windows)
    if not wrong:
        return None
    text = f"spec.windows of the UpgradeConfig: {wrong}"
    return Line(Reason.WINDOW_UNUSABLE, text, stalled=True, at=Stage.VALID)


def closed(course: Course) -> Line | None:
    """When the next step may be begun; None where it may be now. Windows may be changed while it runs."""
    if (line := unusable(course)) is not None:
        return line._replace(at=Stage.DUE)
    windows = windows_of(course.spec.windows)
    if windows.open_at(course.now):
        return None
    opens = windows.next_open(course.now)
    return Line(Reason.WINDOW_CLOSED, f"no window is open; {opening(opens)}", due=opens, at=Stage.DUE)
