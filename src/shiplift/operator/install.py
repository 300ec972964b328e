"""What an administrator applies once: the operator's account, what it may do, and its fence.

Least privilege: read what the enabled layers watch, write what they say they write, and in our own
namespace keep our own Lease and the epoch's home. No wildcards, no secrets across the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube import events, fence, lease, rbac
from shiplift.kube.fence import Names
from shiplift.kube.part import LayerPart

Manifest = dict[str, Any]

NAMESPACE = "shiplift-system"
ACCOUNT = "shiplift"
TOKEN_ROLE = "shiplift-token"  # noqa: S105 - the name of a Role
"""Bound to nobody: whoever is to run the operator from elsewhere is bound to it."""
VIEW_ROLE = "shiplift-view"
"""Part of the cluster's own role `view`, and so of `edit` and `admin`."""


def names(namespace: str, user: str = "") -> Names:
    """The fence for our account in that namespace, or for another user who runs the operator."""
    return Names(namespace, user or fence.service_account(namespace, ACCOUNT))


def manifests(namespace: str, layers: Iterable[LayerPart], user: str = "") -> list[Manifest]:
    """Namespace, account, RBAC and fence, in the order in which they are applied."""
    parts = tuple(layers)
    our = names(namespace, user)
    writes = [*events.rules(), *(rule for part in parts for rule in part.rules)]
    wide = [*_reads(parts), *writes]
    near = [*lease.rules(our.lease), *fence.rules(our)]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": rbac.about(ACCOUNT, namespace)},
        *_granted(wide, "", namespace),
        *_granted(near, namespace, namespace),
        *([] if user else [_token_role(namespace)]),
        _view_role(parts, our),
        *fence.manifests(our, [*wide, *near]),
        *(dict(manifest) for part in parts for manifest in part.manifests),
    ]


def _granted(rules: list[rbac.Rule], where: str, namespace: str) -> list[Manifest]:
    """A role of our account's name, in that namespace or in the whole cluster, bound to our account."""
    role = rbac.role(ACCOUNT, rules, where)
    return [role, rbac.binding(role, ACCOUNT, namespace)]


def _reads(parts: Iterable[LayerPart]) -> list[rbac.Rule]:
    """List and watch, for each API group, what the layers watch."""
    watched = {kinds.NODE, *(watch.kind for part in parts for watch in part.watches)}
    by_group: dict[str, list[Kind]] = defaultdict(list)
    for kind in sorted(watched):
        by_group[kind.group].append(kind)
    return [
        rbac.rule(group, [kind.plural for kind in of_group], ["get", "list", "watch"])
        for group, of_group in sorted(by_group.items())
    ]


def _token_role(namespace: str) -> Manifest:
    """The one right that a person needs who runs the operator with a kubeconfig of their own."""
    rule = rbac.rule("", [f"{kinds.SERVICE_ACCOUNT.plural}/token"], ["create"], [ACCOUNT])
    return rbac.role(TOKEN_ROLE, [rule], namespace)


def _view_role(parts: Iterable[LayerPart], our: Names) -> Manifest:
    """To read our own objects, and the Lease that tells whether an operator runs: whoever may look at a
    cluster may look at these."""
    custom = sorted({kind for part in parts for kind in part.custom_kinds})
    rules = [rbac.rule(kinds.LEASE.group, [kinds.LEASE.plural], ["get", "list"], [our.lease])]
    if custom:
        rules.append(rbac.rule(kinds.GROUP, [kind.plural for kind in custom], ["get", "list", "watch"]))
    role = rbac.role(VIEW_ROLE, rules)
    role["metadata"]["labels"] = {f"{rbac.GROUP}/aggregate-to-view": "true"}
    return role
