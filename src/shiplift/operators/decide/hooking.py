"""The Job by which a version prepares to take over from another: it succeeds before anything is taken. Pure.

Kept true: it is run once for a version, and that it has succeeded is on record before it counts; where it
fails, the version before it goes on running untouched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import timedelta

import msgspec

from shiplift.api.hooks import JobState
from shiplift.api.values import LocalHook
from shiplift.facts.custom import Custom
from shiplift.operators.model import Job, Line, Reason
from shiplift.operators.names import HOOKED
from shiplift.operators.rows import app_of, has_run, version_of
from shiplift.operators.steps import HookDone, RunHook

_LOOK_AGAIN = timedelta(seconds=2)
"""Nobody tells when a Job ends."""
_LONGEST = 40


def due(version: Custom, before: Iterable[Custom]) -> LocalHook | None:
    """The hook that has to succeed first. Who only takes back what was taken from it runs none, nor does who
    ran already, though somebody has taken off that it succeeded."""
    spec = version_of(version).spec
    takes_over = any(one.name == spec.replaces for one in before)
    done = HOOKED in version.annotations or has_run(version)
    return spec.hand_over if takes_over and not done else None


def job_name(version: Custom, hook: LocalHook) -> str:
    """The same for the same version: it is never made twice."""
    digest = hashlib.sha256(f"{version.uid} {hook.name}".encode()).hexdigest()[:12]
    return f"{hook.name[:_LONGEST].rstrip('-')}-{digest}"


def waited_for(version: Custom, app: Custom, before: tuple[Custom, ...], job: Job | None) -> Line | None:
    """What is done about the hook; None where nothing is."""
    hook = due(version, before)
    if hook is None:
        return None
    name = job_name(version, hook)
    if job is None:
        step = _run(version, app, hook, name)
        return Line(Reason.HOOK_RUNNING, step.describe(), steps=(step,))
    told = f"Job {version.namespace}/{name} of hook {hook.name}"
    match job.state:
        case JobState.SUCCEEDED:
            done = HookDone(version.namespace, version.name, version.uid, name)
            return Line(Reason.HOOK_RUNNING, done.describe(), steps=(done,))
        case JobState.FAILED:
            why = f": {job.message}" if job.message else ""
            return Line(
                Reason.HOOK_FAILED, f"{told} has failed{why}; delete it to run it again", due=_LOOK_AGAIN
            )
        case JobState.RUNNING:
            return Line(Reason.HOOK_RUNNING, f"{told} runs", due=_LOOK_AGAIN)


def _run(version: Custom, app: Custom, hook: LocalHook, name: str) -> RunHook:
    spec = version_of(version).spec
    return RunHook(
        namespace=version.namespace,
        account=app_of(app).spec.service_account_name,
        app_type=app.name,
        app_uid=app.uid,
        version=version.name,
        replaces=spec.replaces or "",
        job=name,
        hook=msgspec.to_builtins(hook),
    )
