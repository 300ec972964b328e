"""What an administrator applies once: the operator's account, what it may do, and its fence.

Least privilege: list and watch what the enabled layers watch, write what they say they write, and in our own
namespace keep our own Lease and the epoch's home. Pod templates of workloads are changed only where the
administrator grants it. No wildcards, no secrets across the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from shiplift.api.marks import OPERATOR_ACCOUNT
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube import bounds, events, fence, lease, priority, rbac
from shiplift.kube.fence import Names
from shiplift.kube.part import LayerPart

Manifest = dict[str, Any]

NAMESPACE = "shiplift-system"
CLUSTERS_OWN = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has, and cannot be without."""
RESERVED = "kube-"
"""How names of namespaces begin that Kubernetes keeps for itself."""
ACCOUNT = OPERATOR_ACCOUNT
TOKEN_ROLE = "shiplift-token"  # noqa: S105 - the name of a Role
"""Bound to nobody: whoever is to run the operator from elsewhere is bound to it."""
TEMPLATES_ROLE = "shiplift-templates"
"""Apart from the others, so that it stays when those are applied again."""
VIEW_ROLE = "shiplift-view"
"""Part of the cluster's own role `view`, and so of `edit` and `admin`."""


def names(namespace: str, user: str = "") -> Names:
    """The fence for our account in that namespace, or for another user who runs the operator."""
    return Names(namespace, user or fence.service_account(namespace, ACCOUNT))


def manifests(
    namespace: str, layers: Iterable[LayerPart], user: str = "", *, templates: bool = False
) -> list[Manifest]:
    """Namespace, account, RBAC, bounds and fence, in the order in which they are applied. A namespace of the
    cluster's own is not among them: what is printed is also deleted by it.

    `templates`: with the right to change the pod templates of workloads.
    """
    parts = tuple(layers)
    our = names(namespace, user)
    wide = [*_reads(parts), *events.rules(), *(rule for part in parts for rule in part.rules)]
    _check_secrets(wide)
    elsewhere = _reads_in(parts)
    near = [
        *lease.rules(our.lease),
        *fence.rules(our),
        *_kept_rules(parts),
        *(rule for part in parts for rule in part.near_rules),
        *elsewhere.pop(namespace, ()),
    ]
    of_templates = [rule for part in parts for rule in part.template_rules]
    granted = [rule for part in parts for rule in part.granted_rules]
    there = [rule for rules in elsewhere.values() for rule in rules]
    return [
        *([] if namespace in CLUSTERS_OWN else [_space(namespace)]),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": rbac.about(ACCOUNT, namespace)},
        *_granted(rbac.role(ACCOUNT, wide), namespace),
        *(_granted(rbac.role(TEMPLATES_ROLE, of_templates), namespace) if templates else []),
        *_granted(rbac.role(ACCOUNT, near, namespace), namespace),
        *(
            one
            for where, rules in elsewhere.items()
            for one in _granted(rbac.role(ACCOUNT, rules, where), namespace)
        ),
        *([] if user else [_token_role(namespace)]),
        _view_role(parts, our),
        *priority.manifests(our),
        *bounds.manifests(our.username),
        *(_kept(name, namespace) for name in _kept_names(parts)),
        # applied without the right to templates, the fence must hold for a right that was given before
        *fence.manifests(our, [*wide, *of_templates, *granted, *there, *near]),
        *(dict(manifest) for part in parts for manifest in part.manifests),
    ]


def _space(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _check_secrets(wide: Iterable[rbac.Rule]) -> None:
    """Secrets are granted one by one, by name (`shiplift manifests --grant`), never to a layer as a whole."""
    if any(kinds.SECRET.plural in rule["resources"] for rule in wide):
        raise ValueError("a layer asks for Secrets of the whole cluster; it must name each")


def _granted(role: Manifest, namespace: str) -> list[Manifest]:
    """The role, and what gives it to our account."""
    return [role, rbac.binding(role, ACCOUNT, namespace)]


def _reads(parts: Iterable[LayerPart]) -> list[rbac.Rule]:
    """List and watch what the layers watch everywhere."""
    return _read({kinds.NODE, *(one.kind for part in parts for one in part.watches if not one.namespace)})


def _reads_in(parts: Iterable[LayerPart]) -> dict[str, list[rbac.Rule]]:
    """By namespace: list and watch what the layers watch there only, and do what they do there."""
    watched: dict[str, set[Kind]] = defaultdict(set)
    more: dict[str, list[rbac.Rule]] = defaultdict(list)
    for part in parts:
        for one in part.watches:
            if one.namespace:
                watched[one.namespace].add(one.kind)
        for namespace, rules in part.rules_in.items():
            more[namespace] += rules
    return {where: [*_read(watched[where]), *more[where]] for where in sorted({*watched, *more})}


def _kept_names(parts: Iterable[LayerPart]) -> list[str]:
    """The ConfigMaps of our own namespace that layers keep something in: claims, letters, records."""
    return [name for part in parts for name in (part.claims, *part.keeps) if name]


def _kept_rules(parts: Iterable[LayerPart]) -> list[rbac.Rule]:
    """To keep what is kept in our own namespace."""
    kept = _kept_names(parts)
    return [rbac.rule("", [kinds.CONFIG_MAP.plural], ["get", "patch"], kept)] if kept else []


def _kept(name: str, namespace: str) -> Manifest:
    """Where something is kept, without anything in it: so installing it again never takes something away."""
    kind = kinds.CONFIG_MAP
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": rbac.about(name, namespace)}


def _read(watched: set[Kind]) -> list[rbac.Rule]:
    """List and watch, for each API group."""
    by_group: dict[str, list[Kind]] = defaultdict(list)
    for kind in sorted(watched):
        by_group[kind.group].append(kind)
    return [
        rbac.rule(group, [kind.plural for kind in of_group], ["list", "watch"])
        for group, of_group in sorted(by_group.items())
    ]


def _token_role(namespace: str) -> Manifest:
    """The one right that a person needs who runs the operator with a kubeconfig of their own."""
    rule = rbac.rule("", [f"{kinds.SERVICE_ACCOUNT.plural}/token"], ["create"], [ACCOUNT])
    return rbac.role(TOKEN_ROLE, [rule], namespace)


def _view_role(parts: Iterable[LayerPart], our: Names) -> Manifest:
    """To read our own objects, and the Lease that tells whether an operator runs, with where that is: whoever
    may look at a cluster may look at these."""
    custom = sorted({kind for part in parts for kind in part.custom_kinds})
    rules = [
        rbac.rule(kinds.LEASE.group, [kinds.LEASE.plural], ["get", "list"], [our.lease]),
        rbac.rule(rbac.GROUP, [kinds.CLUSTER_ROLE_BINDING.plural], ["get"], [ACCOUNT]),
    ]
    if custom:
        rules.append(rbac.rule(kinds.GROUP, [kind.plural for kind in custom], ["get", "list", "watch"]))
    role = rbac.role(VIEW_ROLE, rules)
    role["metadata"]["labels"] = {f"{rbac.GROUP}/aggregate-to-view": "true"}
    return role
