"""Before the start of an upgrade that came from a provider of policies, the provider is asked once more.

The wish is a mark on the UpgradeConfig, with the time at which it was made. The layer policy repeats it when
the provider was asked after that, has answered, and the UpgradeConfig is what it said; whatever that has
changed goes through all gates again. An answer that is old by now is none.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shiplift.api.marks import PROVIDER_LABEL, REFRESH_ASKED, REFRESH_AT, REFRESH_DONE
from shiplift.engine import times
from shiplift.upgrade.decide.course import LAYERS_LOOK, Course
from shiplift.upgrade.model import Line, Reason, Stage
from shiplift.upgrade.steps import AskProvider

GOOD_FOR = timedelta(minutes=2)
"""So long an answer counts, and a wish that says no more than when it was made."""
_LOOK_AGAIN = timedelta(seconds=30)
"""No event tells that nobody answers."""


def not_refreshed(course: Course) -> Line | None:
    """What is waited for; None where nobody has to be asked, or has just answered."""
    about = course.upgrade.metadata
    provider = about.labels.get(PROVIDER_LABEL)
    if provider is None:
        return None
    asked, answered = about.annotations.get(REFRESH_ASKED, ""), about.annotations.get(REFRESH_DONE, "")
    if asked and asked != answered:
        return _waits(course, provider, asked)
    if asked and any(_is_fresh(one, course.now) for one in (asked, about.annotations.get(REFRESH_AT, ""))):
        return None
    step = AskProvider(about.uid, f"{course.now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", anew=not asked)
    text = f"provider {provider} is asked once more before the start"
    return Line(Reason.REFRESHING, text, steps=(step,), at=Stage.PREFLIGHT)


def _waits(course: Course, provider: str, asked: str) -> Line:
    text = f"provider {provider} is asked once more before the start"
    policy = course.status.policy
    if policy is not None and policy.message:
        return Line(Reason.REFRESHING, f"{text}: {policy.message}", stalled=True, at=Stage.PREFLIGHT)
    text += "; an operator with the layer policy has to run, with settings that it can read"
    made = times.read(asked)
    waited = course.waits_at(Stage.PREFLIGHT) if made is None else course.now - made
    stalled = waited >= LAYERS_LOOK
    return Line(Reason.REFRESHING, text, stalled, due=course.now + _LOOK_AGAIN, at=Stage.PREFLIGHT)


def _is_fresh(said: str, now: datetime) -> bool:
    """Whether a wish was made, or an answer given, a moment ago; what says no time was somebody else's."""
    made = times.read(said)
    return made is not None and abs(now - made) <= GOOD_FOR
