"""Rights of the operator in one namespace, given one by one at install: to read one Secret, to run hooks, to
act as one ServiceAccount, to read catalogs, to swap the binary of quorum services.

The operator never has a right to Secrets across the cluster, and never one to run Jobs where nobody asked for
it. What is missing is named with the command that prints it.
"""

from __future__ import annotations

from shiplift.engine.object_names import fitting
from shiplift.facts.kinds import CONFIG_MAP, JOB, POD, QUORUM_SERVICE, SECRET, SERVICE_ACCOUNT, STATEFUL_SET
from shiplift.kube.bounds import SWAP
from shiplift.kube.rbac import Manifest, Rule, binding, role, rule

HOOKS = "shiplift-hooks"
"""The name of the Role for Jobs: there is one in a namespace."""


CATALOGS = "shiplift-catalogs"
"""The name of the Role for catalogs: there is one in a namespace."""


def secret(namespace: str, name: str, account: str, account_namespace: str) -> list[Manifest]:
    """Read that one Secret."""
    only = rule(SECRET.group, [SECRET.plural], ["get"], [name])
    granted = role(fitting(f"shiplift-secret-{name}"), [only], namespace)
    return [granted, binding(granted, account, account_namespace)]


def hooks(namespace: str, account: str, account_namespace: str) -> list[Manifest]:
    """Run Jobs there, see how they end, and take them away."""
    granted = role(HOOKS, hook_rules(), namespace)
    return [granted, binding(granted, account, account_namespace)]


def acting_as(namespace: str, name: str, account: str, account_namespace: str) -> list[Manifest]:
    """Act as that one ServiceAccount: what it may do, the operator then may in its name."""
    only = rule(SERVICE_ACCOUNT.group, [SERVICE_ACCOUNT.plural], ["impersonate"], [name])
    granted = role(fitting(f"shiplift-account-{name}"), [only], namespace)
    return [granted, binding(granted, account, account_namespace)]


def catalogs(namespace: str, account: str, account_namespace: str) -> list[Manifest]:
    """Read the ConfigMaps of that namespace, which hold catalogs of operators."""
    granted = role(CATALOGS, [rule(CONFIG_MAP.group, [CONFIG_MAP.plural], ["get", "list"])], namespace)
    return [granted, binding(granted, account, account_namespace)]


def hook_rules() -> list[Rule]:
    """What running hooks takes: each Job is known by its name."""
    return [rule(JOB.group, [JOB.plural], ["get", "create", "delete"])]


QUORUM = "shiplift-quorum"
"""The name of the Role for quorum services: there is one in a namespace."""


def quorum(namespace: str, account: str, account_namespace: str) -> list[Manifest]:
    """Swap the binary of the quorum services there; their Secrets are granted one by one."""
    granted = role(QUORUM, quorum_rules(), namespace)
    return [granted, binding(granted, account, account_namespace)]


def quorum_rules() -> list[Rule]:
    """What a swap takes: the image of StatefulSets changed, pods made anew."""
    return [rule(group, [resource], [verb]) for group, resource, verb in quorum_rights()]


def quorum_rights() -> list[tuple[str, str, str]]:
    """Each as API group, resource and verb."""
    return [
        (STATEFUL_SET.group, STATEFUL_SET.plural, "get"),
        (STATEFUL_SET.group, STATEFUL_SET.plural, "patch"),
        (POD.group, POD.plural, "get"),
        (POD.group, POD.plural, "delete"),
        (QUORUM_SERVICE.group, QUORUM_SERVICE.plural, SWAP),
    ]


def how_to_grant_quorum(namespace: str) -> str:
    """What an administrator runs, as one line."""
    return f"shiplift manifests --quorum {namespace} | kubectl apply -f -"


def how_to_grant_secret(namespace: str, name: str) -> str:
    """What an administrator runs, as one line."""
    return f"shiplift manifests --grant {namespace}/{name} | kubectl apply -f -"
