"""Upgrades of type OpenShift: the cluster-version operator changes control plane and nodes. It is told the
channel and the version by ClusterVersion `version`, and supervised from there.

What is kept true: only a version that it offers is asked for, what it says is passed on as it says it, and an
upgrade that it has begun is never called back.
"""

from __future__ import annotations

from shiplift.upgrade.decide import rolling
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import ClusterVersion, Line, Reason, Stage
from shiplift.upgrade.steps import SetChannel, SetUpdate

_OPERATOR = "the cluster-version operator"
COMPLETED = "Completed"


def unknown(course: Course) -> Line | None:
    """ClusterVersion has to be there, and readable; None where it is, or nobody asks."""
    if not course.openshift or course.view.cluster_version is not None:
        return None
    text = f"ClusterVersion version cannot be read: {course.view.trouble or 'it is not there'}"
    return Line(Reason.UNKNOWN_VERSION, text, stalled=True, at=Stage.VALID)


def without_version(course: Course) -> Line | None:
    if not course.openshift or course.spec.desired.version:
        return None
    text = "desired.channel alone does not say where to: give desired.version"
    return Line(Reason.VERSION_REFUSED, text, stalled=True, at=Stage.VALID)


def control_plane(course: Course) -> Line | None:
    """The release is there as ClusterVersion says; None where it is."""
    found = course.view.cluster_version
    if found is None:
        return Line(Reason.UNREADABLE, f"ClusterVersion version cannot be read: {course.view.trouble}")
    line = _told(course, found) or _goes_on(course, found)
    return None if line is None else line._replace(at=Stage.CONTROL_PLANE)


def _told(course: Course, found: ClusterVersion) -> Line | None:
    """It is told the channel, then the version; None where it knows both."""
    channel = course.spec.desired.channel or found.channel
    target = course.target.removeprefix("v")
    if target in (found.wanted, found.reached):
        return None
    if (line := rolling.may_begin(course)) is not None:
        return line
    if channel != found.channel:
        text = f"{_OPERATOR} is told channel {channel}"
        return Line(Reason.CONTROL_PLANE, text, steps=(SetChannel(found.uid, channel),))
    if target not in found.offered:
        offers = ", ".join(sorted(found.offered)[-3:]) or "nothing"
        text = f"{_OPERATOR} does not offer {target} in channel {channel or 'none'}; it offers {offers}"
        return Line(Reason.STEP_STALLED, text, stalled=True)
    text = f"{_OPERATOR} is told {target}"
    return Line(Reason.CONTROL_PLANE, text, steps=(SetUpdate(found.uid, target),))


def _goes_on(course: Course, found: ClusterVersion) -> Line | None:
    """What it says of itself; None where it is through."""
    target = course.target.removeprefix("v")
    if found.reached == target:
        return None
    said = f"{_OPERATOR}: {found.message or 'it has not said anything yet'}"
    if found.failing:
        return Line(Reason.STEP_STALLED, f"{_OPERATOR}: {found.failing}", stalled=True)
    if course.rests:
        return Line(Reason.PAUSED, f"paused, and {_OPERATOR} goes on by itself ({found.message})")
    return Line(Reason.CONTROL_PLANE, said)
