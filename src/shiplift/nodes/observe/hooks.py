"""Jobs of hooks, read live by name: nobody watches the Jobs of a whole cluster for a handful of ours, and the
operator has no right to."""

from __future__ import annotations

from typing import Any

from shiplift.nodes.model import Hooked, HookState

Json = dict[str, Any]


def hooked(job: Json) -> Hooked:
    """How a Job is, as its conditions say: while it has none it runs."""
    about = job["metadata"]
    state, message = _state(job)
    version = int(about["resourceVersion"])
    return Hooked(about["namespace"], about["name"], about["uid"], version, state, message)


def _state(job: Json) -> tuple[HookState, str]:
    status: Json = job.get("status") or {}
    conditions: list[dict[str, str]] = status.get("conditions") or []
    said = {one["type"]: one for one in conditions if one["status"] == "True"}
    for kind, state in (("Failed", HookState.FAILED), ("Complete", HookState.SUCCEEDED)):
        if found := said.get(kind):
            return state, found.get("message") or found.get("reason") or ""
    return HookState.RUNNING, "it is suspended" if "Suspended" in said else ""
