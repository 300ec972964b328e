"""Starts the Job of a hook, as the AppType's account: what that may not do is not done."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.api.hooks import job_spec
from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.values import LocalHook
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import APP_TYPE, JOB
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists
from shiplift.kube.outcomes import done
from shiplift.operators.steps import RunHook

Json = dict[str, Any]
FROM, TO = "SHIPLIFT_FROM", "SHIPLIFT_TO"
"""What its containers are told: the names of both versions."""


def run(client: Client, step: RunHook) -> Outcome:
    try:
        return done(step, client.create(JOB, job_of(step), step.namespace))
    except AlreadyExists:
        return Outcome.done(step, message="it is there already")


def job_of(step: RunHook) -> Json:
    """It is the AppType's, and goes with it at the latest."""
    hook = msgspec.convert(step.hook, LocalHook)
    owner = {
        "apiVersion": APP_TYPE.api_version,
        "kind": APP_TYPE.kind,
        "name": step.app_type,
        "uid": step.app_uid,
    }
    meta = {"name": step.job, "labels": {MANAGED_BY: MANAGER}, "ownerReferences": [owner]}
    return {"metadata": meta, "spec": job_spec(hook, {FROM: step.replaces, TO: step.version})}
