"""Hooks around one node: each Job runs once for one attempt, one after the other, and has to succeed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from shiplift.api.values import Hook
from shiplift.nodes.decide.case import Case
from shiplift.nodes.model import Hooked, HookState
from shiplift.nodes.steps import DeleteHook, MakeHook

_LONGEST_NAME = 46
"""The rest of a Job's 63 characters tells which rollout, node and attempt it is for."""


def job_name(case: Case, hook: Hook, *, after: bool) -> str:
    """The same for the same rollout, node, attempt and hook: it is never made twice."""
    parts = (case.rollout.metadata.uid, case.record.uid, str(case.record.attempt), str(after), hook.name)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"{hook.name[:_LONGEST_NAME].rstrip('-')}-{digest}"


def waited_for(case: Case, *, after: bool) -> tuple[Hook, Hooked | None] | None:
    """The first hook that has not succeeded, and its Job; None where all have."""
    hooks = case.rollout.spec.hooks.after if after else case.rollout.spec.hooks.before
    for hook in hooks:
        found = case.view.hooks.get((hook.namespace, job_name(case, hook, after=after)))
        if found is None or found.state is not HookState.SUCCEEDED:
            return hook, found
    return None


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
    spec = case.rollout.spec.hooks
    for after, hooks in ((False, spec.before), (True, spec.after)):
        for hook in hooks:
            found = case.view.hooks.get((hook.namespace, job_name(case, hook, after=after)))
            if found is not None and found.state is not HookState.FAILED:
                yield DeleteHook(found.namespace, found.name, found.uid, found.version)
