"""Our Lease and the epoch come before all else of ours at the API server.

It shares its seats among clients by priority level. All calls of one account are one flow of a level: a
leader whose many calls hang could not renew its Lease, and would lose it for no other reason. What
Kubernetes' own controllers have for theirs (`leader-election`) is there for ours too.
"""

from __future__ import annotations

from shiplift.facts.kinds import LEASE
from shiplift.kube.fence import HOME, Names
from shiplift.kube.policies import Manifest

NAME = "shiplift-leader-election"
_LEVEL = "leader-election"
_PRECEDENCE = 200
"""Beside Kubernetes' own of that level (100 to 200), before those for all ServiceAccounts (9000)."""
_ACCOUNT = "system:serviceaccount:"


def manifests(names: Names) -> list[Manifest]:
    """The FlowSchema for whom the fence is for."""
    spec: Manifest = {
        "priorityLevelConfiguration": {"name": _LEVEL},
        "matchingPrecedence": _PRECEDENCE,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": [_subject(names.username)], "resourceRules": _calls(names.namespace)}],
    }
    api = "flowcontrol.apiserver.k8s.io/v1"
    return [{"apiVersion": api, "kind": "FlowSchema", "metadata": {"name": NAME}, "spec": spec}]


def _subject(username: str) -> Manifest:
    namespace, _, name = username.removeprefix(_ACCOUNT).partition(":")
    if not username.startswith(_ACCOUNT):
        return {"kind": "User", "user": {"name": username}}
    return {"kind": "ServiceAccount", "serviceAccount": {"name": name, "namespace": namespace}}


def _calls(namespace: str) -> list[Manifest]:
    return [
        {
            "verbs": ["get", "create", "update", "patch"],
            "apiGroups": [kind.group],
            "resources": [kind.plural],
            "namespaces": [namespace],
        }
        for kind in (LEASE, HOME)
    ]
