"""Upgrades of type OpenShift: the cluster-version operator changes control plane and nodes. It is told the
channel and the version by ClusterVersion `version`, and supervised from there.

Then its machine config pools are waited for, but for those that somebody keeps paused.

What is kept true: only a version that it offers is asked for, what it says is passed on as it says it, and an
upgrade that it has begun is never called back.
"""

from __future__ import annotations

from datetime import timedelta

from shiplift.upgrade.decide import rolling
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import ClusterVersion, Line, Reason, Stage
from shiplift.upgrade.steps import SetChannel, SetUpdate

_OPERATOR = "the cluster-version operator"
COMPLETED = "Completed"
_LOOKS = timedelta(minutes=5)
"""So long it may take to ask what another channel offers."""


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


def busy(course: Course) -> Line | None:
    """An update that somebody else has begun is finished first, as it is written in ClusterVersion."""
    found = course.view.cluster_version
    if not course.openshift or found is None:
        return None
    if found.wanted in ("", found.reached, course.target.removeprefix("v")):
        return None
    text = (
        f"{_OPERATOR} goes to {found.wanted}, as somebody else has told it: that is finished first, or"
        " spec.desiredUpdate of ClusterVersion version taken back"
    )
    return Line(Reason.BUSY, text, at=Stage.PREFLIGHT)


def control_plane(course: Course) -> Line | None:
    """The release is there as ClusterVersion says; None where it is."""
    found = course.view.cluster_version
    if found is None:
        return Line(Reason.UNREADABLE, f"ClusterVersion version cannot be read: {course.view.trouble}")
    line = _not_told(course, found) or _told(course, found) or _goes_on(course, found)
    return None if line is None else line._replace(at=Stage.CONTROL_PLANE)


def _not_told(course: Course, found: ClusterVersion) -> Line | None:
    """Why it is not told anything now; None where it is, or knows all."""
    target = course.target.removeprefix("v")
    if target in (found.wanted, found.reached):
        return None
    told_before = _update(course, found).change in course.view.changes
    return rolling.may_begin(course) or (None if told_before else busy(course))


def _told(course: Course, found: ClusterVersion) -> Line | None:
    """It is told the channel, then the version; None where it knows both."""
    channel = course.spec.desired.channel or found.channel
    target = course.target.removeprefix("v")
    if target in (found.wanted, found.reached):
        return None
    if channel != found.channel:
        text = f"{_OPERATOR} is told channel {channel}"
        return Line(Reason.CONTROL_PLANE, text, steps=(SetChannel(found.uid, channel),))
    if target not in found.offered and _has_just_been_told(course, found):
        text = f"{_OPERATOR} looks what channel {channel} offers"
        return Line(Reason.CONTROL_PLANE, text)
    if target not in found.offered:
        offers = ", ".join(sorted(found.offered)[-3:]) or "nothing"
        text = f"{_OPERATOR} does not offer {target} in channel {channel or 'none'}; it offers {offers}"
        return Line(Reason.STEP_STALLED, text, stalled=True)
    text = f"{_OPERATOR} is told {target}"
    return Line(Reason.CONTROL_PLANE, text, steps=(_update(course, found),))


def _update(course: Course, found: ClusterVersion) -> SetUpdate:
    return SetUpdate(found.uid, course.target.removeprefix("v"), course.uid, course.generation)


def _has_just_been_told(course: Course, found: ClusterVersion) -> bool:
    """What it offers is of the channel from before, for a while: whoever leads sees since when."""
    since = found.channel_since
    return since is not None and course.now - since < _LOOKS


def nodes(course: Course) -> Line | None:
    """Machines of every pool have what the release brings; None where that is so."""
    if course.view.trouble:
        text = f"MachineConfigPools cannot be read: {course.view.trouble}"
        return Line(Reason.UNREADABLE, text, at=Stage.NODES)
    behind = [one for one in course.view.config_pools if one.behind and not one.paused]
    if not behind:
        return None
    one = next((one for one in behind if one.degraded), behind[0])
    more = f", and {len(behind) - 1} more pools wait" if len(behind) > 1 else ""
    text = f"{one.id}: {one.updated} of {one.machines} machines are updated{more}"
    if one.degraded:
        return Line(Reason.STEP_STALLED, f"{text}: {one.degraded}", stalled=True, at=Stage.NODES)
    return Line(Reason.NODES, text, at=Stage.NODES)


def _goes_on(course: Course, found: ClusterVersion) -> Line | None:
    """What it says of itself; None where it is through."""
    target = course.target.removeprefix("v")
    if found.reached == target:
        return None
    said = f"{_OPERATOR}: {found.message or 'it has not said anything yet'}"
    if found.failing:
        return Line(Reason.STEP_STALLED, f"{_OPERATOR}: {found.failing}", stalled=True)
    if course.rests:
        return rolling.resting(course, f"{_OPERATOR} goes on by itself: {found.message}")
    return Line(Reason.CONTROL_PLANE, said)
