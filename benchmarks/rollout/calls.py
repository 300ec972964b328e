"""How many requests a rollout takes, from the first cordon to its end: for each node, and for each pod.

What is apart: Events, and the Lease by which the operator leads. The Leases of nodes, which it reads to see
that a kubelet is there, count.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from benchmarks.rig import identities
from benchmarks.rig.audit import Request

_EVICTION = "pods/eviction"
_EVICTED = frozenset((200, 201))
_OF_POD = {"get", "create", "delete"}


class Calls(msgspec.Struct, frozen=True):
    """Requests of one contest."""

    pods: int
    """Evictions, granted or not, and reads of pods."""
    nodes: int
    """All others."""
    evicted: int
    """Evictions that were granted."""


def calls(requests: Iterable[Request], begin: float, end: float) -> Calls:
    """What was asked between these moments, in seconds since 1970."""
    counted = [one for one in requests if begin <= one.at <= end and not _is_apart(one)]
    pods = [one for one in counted if _is_of_pod(one)]
    evicted = sum(one.resource == _EVICTION and one.code in _EVICTED for one in pods)
    return Calls(len(pods), len(counted) - len(pods), evicted)


def _is_apart(one: Request) -> bool:
    own_lease = one.resource == "leases" and one.namespace == identities.OPERATOR.namespace
    return own_lease or one.resource == "events"


def _is_of_pod(one: Request) -> bool:
    return one.resource == _EVICTION or (one.resource == "pods" and one.verb in _OF_POD)
