"""Steps on nodes: our marks."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Edit, Subject, change, label_changes, taint_changes
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json, done
from shiplift.workloads.steps import MarkNode
from shiplift.workloads.target import OUR_LABELS, OUR_TAINTS


def mark(client: Client, step: MarkNode) -> Outcome:
    """Our labels and taints as the step says, all others of the node as they are."""
    if step.retaint:
        subject = Subject(kinds.NODE, step.name, "", step.uid, "node")
        return change(client, step, subject, lambda live: _marked(step, live))
    labels = {key: step.labels.get(key) for key in OUR_LABELS}
    return done(step, client.patch(kinds.NODE, step.name, {"metadata": {"labels": labels}}, uid=step.uid))


def _marked(step: MarkNode, live: Json) -> Edit:
    labels = label_changes(live, OUR_LABELS, step.labels)
    wanted: list[Json] = [{"key": one.key, "value": one.value, "effect": one.effect} for one in step.taints]
    taints = taint_changes(live, OUR_TAINTS, wanted)
    patch: Json = {"metadata": {"labels": labels}} if labels else {}
    return Edit(patch if taints is None else {**patch, "spec": {"taints": taints}})
