"""The Job of a hook, whichever layer runs it: in the namespace and as the account that the hook names,
whatever its template says, and never as the operator."""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.api.hooks import job_spec
from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.values import LocalHook
from shiplift.engine.denials import is_denial
from shiplift.engine.step import Outcome, Step
from shiplift.kube.errors import Forbidden
from shiplift.kube.outcomes import Json


def job(
    hook: LocalHook, about: Json, told: Mapping[str, str], *, labels: Mapping[str, str], owner: Json
) -> Json:
    """`about` is its name and namespace, `told` the variables that every container gets."""
    return {
        "metadata": {**about, "labels": {MANAGED_BY: MANAGER, **labels}, "ownerReferences": [owner]},
        "spec": job_spec(hook, told),
    }


def forbidden(step: Step, error: Forbidden, namespace: str) -> Outcome:
    """Who has to mend it: whoever gives rights, or whoever denies the Job."""
    if is_denial(error.message):
        return Outcome.failed(step, error.message)
    grant = f"`shiplift manifests --hooks {namespace} | kubectl apply -f -` lets the operator run Jobs there"
    return Outcome.failed(step, f"{error.message} (hint: {grant})")
