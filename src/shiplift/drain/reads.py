"""What of a cluster a drain watches, and which rights it takes: those of whoever drains. I/O.

The node, its pods and all budgets are needed. What else would help (VolumeAttachments, what a migration
holds) is watched where it is there and may be read; where it may not, that is said once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, NotFound
from shiplift.kube.rights import allowed
from shiplift.kube.watch import Watch

_WITHOUT = {
    kinds.VOLUME_ATTACHMENT: "whether volumes are detached is told by the status of the node alone",
    kinds.WORKLOAD_PLACEMENT: "pods that a migration holds are known by PodDisruptionBudgets alone",
    kinds.WORKLOAD_MIGRATION: "pods that a migration holds are known by PodDisruptionBudgets alone",
}


_WITHOUT_QUORUM = "pods that one holds are known by their StatefulSets alone, where these may be read"


class Reads(NamedTuple):
    """What can be read of a cluster."""

    watches: tuple[Watch, ...]
    has_quorum: bool
    """Whether there may be quorum services."""
    unread: tuple[str, ...]
    """What may not be read, and what that means."""


def reads(client: Client, node: str) -> Reads:
    """What a drain of that node watches."""
    watches = [
        Watch(kinds.NODE, field_selector=f"metadata.name={node}"),
        Watch(kinds.POD, field_selector=f"spec.nodeName={node}"),
        Watch(kinds.POD_DISRUPTION_BUDGET),
    ]
    unread = list[str]()
    for kind, without in _WITHOUT.items():
        match _readable(client, kind):
            case True:
                watches.append(Watch(kind))
            case False:
                unread.append(f"{kind}s may not be read: {without}")
            case None:
                pass
    has_quorum = _has_quorum(client)
    if has_quorum is None:
        unread.append(f"{kinds.QUORUM_SERVICE}s may not be read: {_WITHOUT_QUORUM}")
    return Reads(tuple(watches), has_quorum is not False, tuple(unread))


def _has_quorum(client: Client) -> bool | None:
    """Whether there is a quorum service; None where that may not be read."""
    try:
        return next(iter(client.list(kinds.QUORUM_SERVICE, limit=1)), None) is not None
    except NotFound:
        return False
    except Forbidden:
        return None


def _readable(client: Client, kind: Kind) -> bool | None:
    """None where the cluster has no such kind."""
    try:
        next(iter(client.list(kind, limit=1)), None)
    except NotFound:
        return None
    except Forbidden:
        return False
    return allowed(client, "watch", kind.group, kind.plural)


def missing_rights(client: Client, namespaces: Iterable[str]) -> list[str]:
    """What a drain of pods in these namespaces takes and the user lacks."""
    cordon = [] if allowed(client, "patch", "", "nodes") else ["patch nodes"]
    evict = [
        f"create pods/eviction in namespace {namespace}"
        for namespace in sorted(set(namespaces))
        if not allowed(client, "create", "", "pods/eviction", namespace)
    ]
    return [*cordon, *evict]
