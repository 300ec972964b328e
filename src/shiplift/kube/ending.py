"""Ending pods: an eviction or a deletion whose answer is lost counts as under way until the store tells."""

from __future__ import annotations

from collections.abc import Callable

from shiplift.engine.barrier import Gone
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import POD
from shiplift.kube.client import Written
from shiplift.kube.errors import Look, Unknown
from shiplift.kube.outcomes import done


def ended(step: Step, uid: str, send: Callable[[], Written]) -> Outcome:
    """What came of asking that very pod to end; refusals are raised."""
    try:
        return done(step, send())
    except Unknown as error:
        # it may be on its way out: until the store tells, no other pod goes instead
        doubt = (Gone(POD, uid),) if error.look is Look.STILL_UNKNOWN else ()
        return Outcome.unknown(step, error.message, *doubt)
