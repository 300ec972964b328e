"""Steps on the WorkloadMigration itself: our finalizer. Nothing that users wrote is changed."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Subject, change
from shiplift.kube.client import Client
from shiplift.kube.finalizers import finalizer_edit
from shiplift.workloads.names import FINALIZER, MIGRATION
from shiplift.workloads.steps import SetFinalizer


def set_finalizer(client: Client, step: SetFinalizer) -> Outcome:
    """Our finalizer put on or taken off; those of others stay."""
    subject = Subject(kinds.WORKLOAD_MIGRATION, MIGRATION, "", step.uid, "migration")
    return change(client, step, subject, lambda live: finalizer_edit(live, FINALIZER, present=step.present))
