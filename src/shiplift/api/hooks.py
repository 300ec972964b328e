"""The Job of a hook: what it is made of, and how it is. Pure.

Kept true: it runs as the account that its hook names, whatever its template says, and ends in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

from shiplift.api.values import LocalHook, duration

Json = dict[str, Any]


class JobState(Enum):
    """How a Job is."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


def job_spec(hook: LocalHook, told: Mapping[str, str]) -> Json:
    """The spec of a Job, each container of which is told these variables. It is removed by who made it: one
    that removes itself might do so before anybody has read how it ended."""
    template = _object(hook.job.get("template"))
    return {
        **{key: value for key, value in hook.job.items() if key != "ttlSecondsAfterFinished"},
        "activeDeadlineSeconds": _limit(hook),
        "template": {**template, "spec": _pod_spec(hook, _object(template.get("spec")), told)},
    }


def state_of(job: Json) -> tuple[JobState, str]:
    """As its conditions say, with their words: while it has none it runs."""
    status: Json = job.get("status") or {}
    conditions: list[dict[str, str]] = status.get("conditions") or []
    said = {one["type"]: one for one in conditions if one["status"] == "True"}
    for kind, state in (("Failed", JobState.FAILED), ("Complete", JobState.SUCCEEDED)):
        if found := said.get(kind):
            return state, found.get("message") or found.get("reason") or ""
    return JobState.RUNNING, "it is suspended" if "Suspended" in said else ""


def _object(value: Any) -> Json:
    """What is no object is as good as none: the API server then says what is missing."""
    return cast("Json", value) if isinstance(value, dict) else {}


def _limit(hook: LocalHook) -> int:
    """In seconds: as the hook says, or as its template does where that is shorter."""
    own, limit = hook.job.get("activeDeadlineSeconds"), int(duration(hook.timeout).total_seconds())
    return max(min(own, limit) if isinstance(own, int) else limit, 1)


def _pod_spec(hook: LocalHook, spec: Json, told: Mapping[str, str]) -> Json:
    account = hook.service_account_name
    variables = [{"name": name, "value": value} for name, value in told.items()]
    made: Json = {"restartPolicy": "Never", **spec, "serviceAccountName": account, "serviceAccount": account}
    for field in ("initContainers", "containers"):
        if isinstance(containers := made.get(field), list):
            made[field] = [_told(one, variables) for one in cast("list[Any]", containers)]
    return made


def _told(container: Any, variables: Sequence[Json]) -> Any:
    """What is no container is left to the API server to refuse."""
    if not isinstance(container, dict):
        return container
    found = cast("Json", container)
    own: list[Any] = found.get("env") or []
    return {**found, "env": [*variables, *own]}
