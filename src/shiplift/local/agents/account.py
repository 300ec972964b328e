"""The account of simulated agents: it watches Nodes, and acts as simulated nodes and as nobody else.

Whom it may act as is a list of names in its role: RBAC has no patterns, and a rule without names would let it
act as every node of the cluster. The list grows with the cluster, by whoever runs the agents, who made the
nodes: an account that could extend its own role could do everything. A name that is gone stays until the next
start; it is nobody's. Ten thousand names are within what one object may hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from shiplift.facts.kinds import CLUSTER_ROLE, NODE, SERVICE_ACCOUNT
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.credentials import Impersonation
from shiplift.kube.errors import AlreadyExists
from shiplift.kube.manifests import kind_of
from shiplift.kube.rbac import Manifest, about, binding, role, rule

ACCOUNT = Account("kube-system", "shiplift-simulated-agents")
NODES = "system:nodes"


def node_user(name: str) -> Impersonation:
    """The node itself, to the API server."""
    return Impersonation(f"system:node:{name}", groups=(NODES,))


def manifests(names: Iterable[str]) -> list[Manifest]:
    """The account, and that it may act as these nodes."""
    rights = _role(names)
    return [
        {
            "apiVersion": SERVICE_ACCOUNT.api_version,
            "kind": SERVICE_ACCOUNT.kind,
            "metadata": about(ACCOUNT.name, ACCOUNT.namespace),
        },
        rights,
        binding(rights, ACCOUNT.name, ACCOUNT.namespace),
    ]


def _role(names: Iterable[str]) -> Manifest:
    users = [node_user(name).user for name in sorted(names)]
    acts = [rule("", ["users"], ["impersonate"], users)] if users else []
    return role(
        ACCOUNT.name,
        [
            rule(NODE.group, [NODE.plural], ["list", "watch"]),
            rule("", ["groups"], ["impersonate"], [NODES]),
            *acts,
        ],
    )


def install(admin: Client, names: Iterable[str]) -> None:
    """Make the account, or let the one that is there act as these nodes."""
    listed = list(names)
    for one in manifests(listed):
        with contextlib.suppress(AlreadyExists):
            admin.create(kind_of(one), one)
    allow(admin, listed)


def allow(admin: Client, names: Iterable[str]) -> None:
    """Let it act as these nodes, and no others."""
    there = admin.get(CLUSTER_ROLE, ACCOUNT.name)
    wanted = _role(names)["rules"]
    if there.get("rules") != wanted:
        admin.patch(CLUSTER_ROLE, ACCOUNT.name, {"rules": wanted}, uid=there["metadata"]["uid"])
