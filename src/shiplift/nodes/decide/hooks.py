"""Hooks around one node: each Job runs once for one attempt, one after the other, and has to succeed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from shiplift.api.nodes import NodeRollout, NodeStatus
from shiplift.api.values import Hook, duration
from shiplift.nodes.decide.case import Case
from shiplift.nodes.model import Hooked, HookState, Reason
from shiplift.nodes.steps import DeleteHook, MakeHook

_LONGEST_NAME = 46
"""The rest of a Job's 63 characters tells which rollout, node and attempt it is for."""


def jobs(rollout: NodeRollout, record: NodeStatus) -> Iterator[tuple[str, str]]:
    """Namespaces and names of all Jobs that the hooks around a node may have."""
    for after in (False, True):
        for hook in rollout.spec.hooks.after if after else rollout.spec.hooks.before:
            yield hook.namespace, _name(rollout, record, hook, after=after)


def job_name(case: Case, hook: Hook, *, after: bool) -> str:
    return _name(case.rollout, case.record, hook, after=after)


def _name(rollout: NodeRollout, record: NodeStatus, hook: Hook, *, after: bool) -> str:
    """The same for the same rollout, node, attempt and hook: it is never made twice."""
    parts = (rollout.metadata.uid, record.uid, str(record.attempt), str(after), hook.name)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"{hook.name[:_LONGEST_NAME].rstrip('-')}-{digest}"


def noted(case: Case) -> Case:
    """With the hooks that have succeeded written down: a Job that somebody removes then is not run again."""
    jobs = (
        job_name(case, hook, after=after)
        for after in (False, True)
        for hook in _hooks(case, after=after)
        if (found := _job(case, hook, after=after)) is not None and found.state is HookState.SUCCEEDED
    )
    fresh = tuple(one for one in jobs if one not in case.record.hooks)
    if not fresh:
        return case
    record = msgspec.structs.replace(case.record, hooks=(*case.record.hooks, *fresh))
    return msgspec.structs.replace(case, record=record)


def waited_for(case: Case, *, after: bool) -> tuple[Hook, Hooked | None] | None:
    """The first hook that has not succeeded, and its Job; None where all have."""
    for hook in _hooks(case, after=after):
        if job_name(case, hook, after=after) not in case.record.hooks:
            return hook, _job(case, hook, after=after)
    return None


def runs(job: Hooked | None) -> bool:
    return job is not None and job.state is HookState.RUNNING


def is_waited_for(case: Case, job: Hooked | None) -> bool:
    """Whether a hook has begun that may still end, where the node is to be given back."""
    return runs(job) and not case.late(duration(case.rollout.spec.node_timeout))


def reason(case: Case, job: Hooked | None) -> Reason:
    """A hook that cannot be begun, or of which nobody can tell how it goes, is waited for as long as any
    change; then somebody has to look."""
    late = case.late(duration(case.rollout.spec.node_timeout))
    return Reason.TIMED_OUT if late and not runs(job) else Reason.HOOK_RUNNING


def told(hook: Hook, job: Hooked | None, before: str) -> str:
    """What a node waits for, and what keeps the Job, where something does."""
    if job is not None and job.state is HookState.UNKNOWN:
        return f"Job {job.namespace}/{job.name} of hook {hook.name} cannot be read: {job.message}"
    text = f"hook {hook.name} runs before it is {before}"
    return f"{text}: {job.message}" if job is not None and job.message else text


def _hooks(case: Case, *, after: bool) -> tuple[Hook, ...]:
    return case.rollout.spec.hooks.after if after else case.rollout.spec.hooks.before


def _job(case: Case, hook: Hook, *, after: bool) -> Hooked | None:
    return case.view.hooks.get((hook.namespace, job_name(case, hook, after=after)))


def make(case: Case, hook: Hook, *, after: bool) -> MakeHook:
    about = case.rollout.metadata
    return MakeHook(
        about.name,
        about.uid,
        case.record.name,
        hook.name,
        hook.namespace,
        job_name(case, hook, after=after),
        after,
    )


def removals(case: Case) -> Iterator[DeleteHook]:
    """What takes the Jobs of this attempt away; those that failed stay for people to look at."""
    for after in (False, True):
        for hook in _hooks(case, after=after):
            found = _job(case, hook, after=after)
            if found is not None and found.state not in {HookState.FAILED, HookState.UNKNOWN}:
                yield DeleteHook(found.namespace, found.name, found.uid, found.version)
