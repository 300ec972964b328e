"""API servers whose version nobody says, or that say none: such a one is waited for a while, then somebody
has to look. What is not known is never taken for done."""

from __future__ import annotations

from datetime import timedelta

from shiplift.facts.nodes import CONTROL_PLANE as ROLES
from shiplift.upgrade.decide import path
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import Line, Reason, Stage
from shiplift.upgrade.names import CONTROL_PLANE

_LOOK_AGAIN = timedelta(seconds=5)
"""No event tells that a server answers again."""
_LABEL = f"is the label {ROLES[0]} right?"


def unknown(course: Course, stage: Stage) -> Line:
    """What is waited for at a step that cannot be judged without that version."""
    servers = course.view.api_servers.items()
    name, said = next(((name, one) for name, one in servers if not path.is_version(one)), ("", ""))
    of_node = name in {one.name for one in course.view.machines}
    where = f"of node {name}" if of_node else "that answers"
    text = f"nobody says which version the API server {where} has"
    if said:
        text = f"the API server {where} says that it has version {said[:60]!r}, which is none"
    stalled = course.unknown_at(stage)
    if stalled and of_node and not said:
        text += f"; the agent there has to run, and to find it ({_LABEL})"
    elif stalled and not said:
        text += "; it has to answer the operator at /version"
    due = course.now + _LOOK_AGAIN
    return Line(Reason.UNKNOWN_VERSION, text, stalled=stalled, due=due, at=stage)


def planes(course: Course) -> Line | None:
    """Control-plane nodes whose agents do not say it: their NodeRollout begins nothing before they do. None
    where all say it."""
    said = course.view.api_servers
    found = [one for one in course.machines(CONTROL_PLANE) if said.get(one.name) == ""]
    if not found:
        return None
    text = f"the agent of node {found[0].name} does not say which version its API server has"
    stalled = course.unknown_at(Stage.CONTROL_PLANE)
    text += f"; it has to run there, and to find it ({_LABEL})" if stalled else "; it is waited for"
    due = course.now + _LOOK_AGAIN
    return Line(Reason.UNKNOWN_VERSION, text, stalled=stalled, due=due, at=Stage.CONTROL_PLANE)
