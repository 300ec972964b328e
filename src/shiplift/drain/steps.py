"""The step that whoever drains or moves pods may take on a budget; nothing is decided here."""

from __future__ import annotations

from shiplift.engine.step import Step

TIME_TO_NOTICE = 5
"""Seconds that the disruption controller has to see by itself that a pod went and another came."""


class ForgetEviction(Step, frozen=True):
    """Take a pod's name off a budget's list of pods that are going, though it is there.

    The disruption controller does that itself where it sees the pod go. Where the next of a StatefulSet was
    there before it looked, or an eviction was granted and never carried out, the budget would let nobody go
    for two minutes.
    """

    namespace: str
    budget: str
    uid: str
    pod: str
    pod_uid: str
    """The pod that is there now."""

    @property
    def key(self) -> str:
        return f"forget eviction {self.uid} {self.pod_uid}"

    def describe(self) -> str:
        return (
            f"let PodDisruptionBudget {self.namespace}/{self.budget} forget the eviction of {self.pod},"
            " which is there"
        )
