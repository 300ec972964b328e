"""Lets another pod of the operator lead, before ours goes. I/O."""

from __future__ import annotations

from shiplift.drain.steps import HandOver
from shiplift.engine.step import Outcome
from shiplift.kube.succession import Succession


def hand_over(succession: Succession, step: HandOver) -> Outcome:
    """Returns before another leads: this term is over soon, and until then nobody ends our own pod."""
    succession.hand_over(step.describe())
    return Outcome.done(step)
