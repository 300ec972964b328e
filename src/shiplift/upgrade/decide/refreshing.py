"""Before the start of an upgrade that came from a provider of policies, the provider is asked once more.

The wish is a mark on the UpgradeConfig, with the time at which it was made. The layer policy repeats it when
the provider was asked after that, has answered, and the UpgradeConfig is what it said; whatever that has
changed goes through all gates again. An answer to a wish that is old by now is no answer.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shiplift.api.marks import PROVIDER_LABEL, REFRESH_ASKED, REFRESH_DONE
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import Line, Reason, Stage
from shiplift.upgrade.steps import AskProvider

GOOD_FOR = timedelta(minutes=2)
"""So long after a wish its answer counts."""


def not_refreshed(course: Course) -> Line | None:
    """What is waited for; None where nobody has to be asked, or has just answered."""
    about = course.upgrade.metadata
    provider = about.labels.get(PROVIDER_LABEL)
    if provider is None:
        return None
    asked, answered = about.annotations.get(REFRESH_ASKED, ""), about.annotations.get(REFRESH_DONE, "")
    if asked and asked != answered:
        return _waits(course, provider)
    if asked and _is_fresh(asked, course.now):
        return None
    step = AskProvider(about.uid, f"{course.now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", anew=not asked)
    text = f"provider {provider} is asked once more before the start"
    return Line(Reason.REFRESHING, text, steps=(step,), at=Stage.PREFLIGHT)


def _waits(course: Course, provider: str) -> Line:
    text = f"provider {provider} is asked once more before the start"
    policy = course.status.policy
    if policy is not None and policy.message:
        return Line(Reason.REFRESHING, f"{text}: {policy.message}", stalled=True, at=Stage.PREFLIGHT)
    text += "; an operator with the layer policy has to run, with settings that it can read"
    return Line(Reason.REFRESHING, text, at=Stage.PREFLIGHT)


def _is_fresh(asked: str, now: datetime) -> bool:
    """Whether the wish was made a moment ago; one that says no time was somebody else's."""
    try:
        made = datetime.fromisoformat(asked)
    except ValueError:
        return False
    return made.tzinfo is not None and abs(now - made) <= GOOD_FOR
