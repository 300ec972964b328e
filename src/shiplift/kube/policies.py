"""The parts of admission policies: what a layer's own policies and the fence are built from.

Policies are static and installed by an administrator: whoever may write them owns the cluster, so the
operator writes only their parameters. It looks whether they are there by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError, NotFound
from shiplift.kube.rbac import Rule, rule

Manifest = dict[str, Any]
_MUTATING = (MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING)


def object_of(kind: Kind, name: str, spec: Manifest, labels: Mapping[str, str] | None = None) -> Manifest:
    """A policy or a binding."""
    about: Manifest = {"name": name} | ({"labels": dict(labels)} if labels else {})
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about, "spec": spec}


def named(expressions: Mapping[str, str]) -> list[Manifest]:
    """Variables or match conditions."""
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def matched(kind: Kind, *operations: str) -> Manifest:
    """What a policy looks at: these operations on one kind."""
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": list(operations),
        "resources": [kind.plural],
    }


def parameter(kind: Kind) -> Manifest:
    """The kind that a policy's parameter is of."""
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def json_patches(*expressions: str) -> list[Manifest]:
    """Mutations: the other way to write one refuses lists that belong together, as taints do."""
    return [{"patchType": "JSONPatch", "jsonPatch": {"expression": one}} for one in expressions]


def text(value: str) -> str:
    """A CEL string literal; JSON's escapes are a part of CEL's."""
    return msgspec.json.encode(value).decode()


def installed(client: Client, name: str, kinds: Iterable[Kind] = _MUTATING) -> bool | str | None:
    """True where a policy and its binding of that name are there; None when that cannot be told now. Where we
    may not look, which only an administrator changes, what the API server says to that."""
    try:
        for kind in kinds:
            client.get(kind, name)
    except NotFound:
        return False
    except Forbidden as error:
        return str(error)
    except KubeError:
        return None
    return True


def rules(name: str, kinds: Iterable[Kind] = _MUTATING) -> list[Rule]:
    """The RBAC that `installed` needs."""
    listed = list(kinds)
    return [rule(listed[0].group, [kind.plural for kind in listed], ["get"], [name])]
