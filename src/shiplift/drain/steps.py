"""The steps that whoever drains or moves pods may take besides: on a budget, and before our own pod goes;
nothing is decided here."""

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


class HandOver(Step, frozen=True):
    """Let another pod of the operator lead: it goes on, and ends ours."""

    pod: str
    """Ours, with its namespace."""
    uid: str
    to: str
    """One that could lead; which one does, the Lease decides."""

    @property
    def key(self) -> str:
        return f"hand over {self.uid}"

    def describe(self) -> str:
        return f"let another pod of the operator lead, such as {self.to}, before pod {self.pod} goes"
