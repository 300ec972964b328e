"""Steps on the NodeRollout itself: our finalizer. Nothing that users wrote is changed."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.kube.changing import Subject, change
from shiplift.kube.client import Client
from shiplift.kube.finalizers import finalizer_edit
from shiplift.nodes.names import FINALIZER
from shiplift.nodes.steps import SetFinalizer


def set_finalizer(client: Client, step: SetFinalizer) -> Outcome:
    """Our finalizer put on or taken off; those of others stay."""
    subject = Subject(NODE_ROLLOUT, step.rollout, "", step.uid, "rollout")
    return change(client, step, subject, lambda live: finalizer_edit(live, FINALIZER, present=step.present))
