"""Help for tests: a ServiceAccount with its Role, and a kubeconfig that holds its token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shiplift.facts.kinds import POD, Kind
from shiplift.kube import fence
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists
from shiplift.local.accounts import kubeconfig_of, with_token

NAME = "operator"
SERVICE_ACCOUNT = fence.HOME
ROLE = Kind("Role", "roles", "rbac.authorization.k8s.io")
ROLE_BINDING = Kind("RoleBinding", "rolebindings", "rbac.authorization.k8s.io")


def names(namespace: str) -> fence.Names:
    """Cluster-wide objects named after the test's own namespace, so that tests do not meet."""
    return fence.Names(namespace, fence.service_account(namespace, NAME), fence=namespace)


def make_service_account(admin: Client, namespace: str, rules: Sequence[Mapping[str, Any]]) -> None:
    named = {"metadata": {"name": NAME}}
    admin.create(SERVICE_ACCOUNT, named, namespace)
    admin.create(ROLE, named | {"rules": list(rules)}, namespace)
    role = {"apiGroup": ROLE.group, "kind": "Role", "name": NAME}
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    admin.create(ROLE_BINDING, named | {"roleRef": role, "subjects": [subject]}, namespace)


def make_pod(admin: Client, namespace: str, name: str, account: str = "default") -> dict[str, Any]:
    """A pod that nobody schedules, so that nobody but the test changes it."""
    spec = {
        "serviceAccountName": account,
        "schedulerName": "nobody",
        "containers": [{"name": "main", "image": "none"}],
    }
    return admin.create(POD, {"metadata": {"name": name}, "spec": spec}, namespace).object


def install(admin: Client, manifests: Sequence[dict[str, Any]], kinds: Mapping[str, Kind]) -> None:
    for manifest in manifests:
        try:
            admin.create(kinds[manifest["kind"]], manifest)
        except AlreadyExists:
            continue


def kubeconfig(
    admin: Client, like: Path, to: Path, namespace: str, pod: dict[str, Any] | None = None
) -> Path:
    """As `like`, but for the ServiceAccount; with a pod, by a token that is bound to it, as pods have."""
    if pod is None:
        return kubeconfig_of(Account(namespace, NAME), like, to)
    return with_token(like, to, _token_of_a_pod(admin, namespace, pod["metadata"]))


def _token_of_a_pod(admin: Client, namespace: str, meta: Mapping[str, Any]) -> str:
    """The product never asks for one: its own comes with its pod."""
    pod = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    path = SERVICE_ACCOUNT.path(namespace, NAME, "token")
    answer = admin.raw("POST", path, body=msgspec.json.encode({"spec": {"boundObjectRef": pod}}))
    return msgspec.json.decode(answer)["status"]["token"]
