"""RBAC as manifests: what an account may do, by whom it is held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Rule = Mapping[str, Any]
Manifest = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"


def rule(group: str, resources: Iterable[str], verbs: Iterable[str], names: Iterable[str] = ()) -> Rule:
    """The verbs on resources of one API group; with names, on these objects alone."""
    found: dict[str, list[str]] = {
        "apiGroups": [group],
        "resources": list(resources),
        "verbs": list(verbs),
    }
    only = list(names)
    return found | ({"resourceNames": only} if only else {})


def role(name: str, rules: Sequence[Rule], namespace: str = "") -> Manifest:
    """A Role in that namespace, or a ClusterRole without one."""
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": about(name, namespace),
        "rules": list(rules),
    }


def binding(role_: Manifest, account: str, account_namespace: str) -> Manifest:
    """The role, of the same name and place, given to a ServiceAccount."""
    kind, where = role_["kind"], role_["metadata"]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": dict(where),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": where["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": account_namespace}],
    }


def about(name: str, namespace: str = "") -> Manifest:
    """Metadata of an object that may be of no namespace."""
    return {"name": name} | ({"namespace": namespace} if namespace else {})
