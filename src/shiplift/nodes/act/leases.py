"""Reads one Lease, live: the store does not hold those of nodes and controllers, which are renewed all the
time."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts.kinds import LEASE
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.kube.outcomes import Json
from shiplift.nodes.memory import Leases
from shiplift.nodes.steps import CheckLease

_SECONDS = 1
"""For how long a look at a Lease waits for its renewal."""


def check(client: Client, leases: Leases, step: CheckLease) -> Outcome:
    """Note when it was last renewed, and whether it is again a moment later."""
    try:
        found = client.get(LEASE, step.name, step.space)
    except NotFound:
        if step.of_node:
            leases.note(step.uid, step.attempt, "")
        else:
            leases.note_unknown(step.uid)  # somebody else runs them, or one alone that elects nobody
        return Outcome.done(step)
    except Forbidden:
        if step.of_node:
            raise
        leases.note_unknown(step.uid)
        return Outcome.done(step)
    if leases.note(step.uid, step.attempt, _renewed(found)):
        return Outcome.done(step)
    if (later := _next(client, step, found["metadata"]["resourceVersion"])) is not None:
        leases.note_again(step.uid, _renewed(later))
    return Outcome.done(step)


def _next(client: Client, step: CheckLease, version: str) -> Json | None:
    """The Lease after its next change. Who may not watch it reads it again at the next look."""
    try:
        return client.next_change(LEASE, step.name, step.space, version, _SECONDS)
    except Forbidden:
        return None


def _renewed(lease: Json) -> str:
    """As it stands there, empty where nothing does."""
    spec: Json = lease.get("spec") or {}
    return str(spec.get("renewTime") or "")
