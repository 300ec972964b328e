"""What cannot be called back is done only while the UpgradeConfig asks for what it did when that was decided:
a watch may bring late that somebody has aborted it, or asks for something else."""

from __future__ import annotations

from shiplift.engine.step import Outcome, Step
from shiplift.kube.outcomes import SOON, Json, uid_of


def no_more(live: Json, step: Step, uid: str, generation: int) -> Outcome | None:
    """Why the step is not taken; None where the live UpgradeConfig is the one that was seen."""
    if uid_of(live) != uid:
        return Outcome.done(step, message="another UpgradeConfig has its name now")
    if live["metadata"].get("generation") != generation:
        return Outcome.refused(step, "the UpgradeConfig asks for something else by now", SOON)
    return None
