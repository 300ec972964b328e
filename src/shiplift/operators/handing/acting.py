"""Takes the steps of a hand-over."""

from __future__ import annotations

from typing import Any

from shiplift.engine.step import Outcome
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.operators.handing.ownership import patch
from shiplift.operators.handing.steps import HandOver

Json = dict[str, Any]


def act(client: Client, step: HandOver) -> Outcome:
    """Read live, and write what is next there: nothing, or another write, where somebody was faster."""

    def edit(live: Json) -> Edit:
        return Edit(patch(live["metadata"], step.old, step.new))

    subject = Subject(step.kind, step.name, step.namespace, step.uid, step.kind.kind)
    try:
        return change(client, step, subject, edit)
    except KubeError as error:
        return refusal(step, error)
