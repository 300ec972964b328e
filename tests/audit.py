"""What the audit log of a local cluster says: who asked for what, and whether it was allowed.

The cluster has to be one with an audit log (`Settings(audit=True)`).
"""

from __future__ import annotations

import json
from typing import Any

from shiplift.kube.account import Account
from shiplift.kube.fence import service_account
from shiplift.local.cluster import Cluster

Json = dict[str, Any]
_DECISION = "authorization.k8s.io/decision"


class Audit:
    """What the API server noted about an account since this was made."""

    def __init__(self, cluster: Cluster, account: Account) -> None:
        self._cluster = cluster
        self._from = cluster.layout.audit_log.stat().st_size
        self._user = service_account(account.namespace, account.name)

    def events(self) -> list[Json]:
        found = events(self._cluster, self._from)
        return [one for one in found if one["user"]["username"] == self._user]

    def forbidden(self) -> list[str]:
        return [one["requestURI"] for one in self.events() if one["annotations"].get(_DECISION) != "allow"]

    def asked(self) -> set[str]:
        """What the account used of its rights, each as `verb resource`."""
        return {f"{one['verb']} {_resource(one['objectRef'])}" for one in self.events() if "objectRef" in one}


def events(cluster: Cluster, since: int = 0) -> list[Json]:
    """All that was noted, from that byte of the log on."""
    with cluster.layout.audit_log.open("rb") as log:
        log.seek(since)
        return [json.loads(line) for line in log]


def users_who(verb: str, name: str, cluster: Cluster) -> set[str]:
    """Those who did that to an object of that name."""
    mine = (one for one in events(cluster) if one["verb"] == verb)
    return {one["user"]["username"] for one in mine if one.get("objectRef", {}).get("name") == name}


def _resource(reference: Json) -> str:
    return "/".join(reference[key] for key in ("resource", "subresource") if key in reference)
