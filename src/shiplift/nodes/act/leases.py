"""Reads the Lease of one node, live: the store does not hold the Leases of nodes, which are renewed all the
time."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts.kinds import LEASE
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound
from shiplift.kube.outcomes import Json
from shiplift.nodes.memory import Leases
from shiplift.nodes.names import NODE_LEASES
from shiplift.nodes.steps import CheckLease


def check(client: Client, leases: Leases, step: CheckLease) -> Outcome:
    """Note when it was last renewed; a node without a Lease renews none."""
    leases.note(step.uid, step.attempt, _renewed(client, step.name))
    return Outcome.done(step)


def _renewed(client: Client, name: str) -> str:
    """As it stands there, empty where nothing does."""
    try:
        found = client.get(LEASE, name, NODE_LEASES)
    except NotFound:
        return ""
    spec: Json = found.get("spec") or {}
    return str(spec.get("renewTime") or "")
