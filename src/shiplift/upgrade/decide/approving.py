"""Approval: given to a version and to what the plan would do, by its digest; nothing else makes it void."""

from __future__ import annotations

from shiplift.api.values import Approval
from shiplift.engine import versions
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import Line, Reason, Stage


def missing(course: Course) -> Line | None:
    """Who has to approve what; None where nobody has to, or somebody has."""
    plan, granted = course.plan, course.spec.approved
    if course.spec.approval is not Approval.MANUAL:
        return None
    if plan is None:
        return _needed(f"the plan to {course.target} is not known now, and approval is given to a plan")
    if granted is None:
        return _needed(f"somebody has to approve the plan to {plan.version}; `shiplift approve` does")
    if versions.goal(granted.version) != plan.version:
        return _needed(f"{granted.by} approved {granted.version}, and the plan goes to {plan.version}")
    if granted.plan_digest != plan.digest:
        return _needed(
            f"the plan to {plan.version} is not the one that {granted.by} approved; `shiplift approve` does"
        )
    return None


def _needed(text: str) -> Line:
    return Line(Reason.NEEDS_APPROVAL, text, at=Stage.APPROVED)
