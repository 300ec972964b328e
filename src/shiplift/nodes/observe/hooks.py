"""Jobs of hooks, read live by name: nobody watches the Jobs of a whole cluster for a handful of ours, and the
operator has no right to."""

from __future__ import annotations

from typing import Any

from shiplift.api.hooks import state_of
from shiplift.nodes.model import Hooked, HookState

Json = dict[str, Any]


def hooked(job: Json) -> Hooked:
    """How a Job is, as its conditions say: while it has none it runs."""
    about = job["metadata"]
    state, message = state_of(job)
    version = int(about["resourceVersion"])
    return Hooked(about["namespace"], about["name"], about["uid"], version, HookState(state.value), message)
