"""Steps on the Jobs of hooks. A Job runs in the namespace and as the account that its hook names, whatever
its template says, and never as the operator. Its name is fixed, so that it is never run twice."""

from __future__ import annotations

from typing import cast

import msgspec

from shiplift import api
from shiplift.api.nodes import NodeRollout
from shiplift.api.values import Hook
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import JOB, NODE_ROLLOUT
from shiplift.kube import hook_jobs
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, Forbidden, NotFound, PreconditionFailed
from shiplift.kube.outcomes import Json, done, uid_of
from shiplift.nodes.memory import Jobs
from shiplift.nodes.names import HOOK_LABEL, HOOK_NODE, HOOK_ROLLOUT
from shiplift.nodes.steps import DeleteHook, MakeHook


class Hooks:
    """Makes and removes Jobs; notes those that are there."""

    def __init__(self, client: Client, jobs: Jobs) -> None:
        self._client, self._jobs = client, jobs

    def take(self, step: MakeHook | DeleteHook) -> Outcome:
        return self._make(step) if isinstance(step, MakeHook) else self._delete(step)

    def _make(self, step: MakeHook) -> Outcome:
        live = self._client.get(NODE_ROLLOUT, step.rollout)
        if uid_of(live) != step.rollout_uid:
            return Outcome.done(step, message="another rollout has its name now")
        hook = _hook_of(cast("NodeRollout", api.decode(NODE_ROLLOUT, msgspec.json.encode(live))), step)
        if hook is None:
            return Outcome.failed(step, f"NodeRollout {step.rollout} has no hook {step.hook} any more")
        try:
            outcome = done(step, self._client.create(JOB, job_of(step, hook), step.namespace))
        except AlreadyExists:
            outcome = self._known(step)
        except Forbidden as error:
            return hook_jobs.forbidden(step, error, step.namespace)
        if outcome.ok:
            self._jobs.note((step.namespace, step.job))
        return outcome

    def _known(self, step: MakeHook) -> Outcome:
        """One of that name is there: ours of an earlier try, or somebody else's."""
        labels: Json = self._client.get(JOB, step.job, step.namespace)["metadata"].get("labels") or {}
        if labels.get(HOOK_LABEL) == step.rollout_uid:
            return Outcome.done(step, message="it is there already")
        return Outcome.failed(
            step, f"Job {step.namespace}/{step.job} is somebody else's (hint: delete or rename it)"
        )

    def _delete(self, step: DeleteHook) -> Outcome:
        version = str(step.version)
        try:
            outcome = done(
                step,
                self._client.delete(JOB, step.job, step.namespace, uid=step.uid, resource_version=version),
            )
        except (NotFound, PreconditionFailed):
            outcome = Outcome.done(step, message="it is gone already")
        self._jobs.forget((step.namespace, step.job))
        return outcome


def _hook_of(rollout: NodeRollout, step: MakeHook) -> Hook | None:
    hooks = rollout.spec.hooks.after if step.after else rollout.spec.hooks.before
    meant = (one for one in hooks if (one.name, one.namespace) == (step.hook, step.namespace))
    return next(meant, None)


def job_of(step: MakeHook, hook: Hook) -> Json:
    """The Job of a hook for one node. It is the rollout's, and goes with it at the latest."""
    about = {"name": step.job, "namespace": step.namespace}
    told = {HOOK_NODE: step.node, HOOK_ROLLOUT: step.rollout}
    labels = {HOOK_LABEL: step.rollout_uid}
    return hook_jobs.job(hook, about, told, labels=labels, owner=_owner(step))


def _owner(step: MakeHook) -> Json:
    return {
        "apiVersion": NODE_ROLLOUT.api_version,
        "kind": NODE_ROLLOUT.kind,
        "name": step.rollout,
        "uid": step.rollout_uid,
    }
