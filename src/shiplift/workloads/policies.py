"""Whether the admission policies of mode Inject are installed: looked at before a migration begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.workloads.admission import ECHO_POLICY, PODS_POLICY

_KINDS = (MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING)
_NAMES = (PODS_POLICY, ECHO_POLICY)


def installed(client: Client) -> bool | None:
    """True where all of them are there; None when that cannot be told now."""
    try:
        for kind in _KINDS:
            for name in _NAMES:
                client.get(kind, name)
    except NotFound:
        return False
    except KubeError:
        return None
    return True


def rules() -> list[Mapping[str, Any]]:
    """The RBAC that looking needs."""
    return [
        {
            "apiGroups": [MUTATING_ADMISSION_POLICY.group],
            "resources": [kind.plural for kind in _KINDS],
            "resourceNames": list(_NAMES),
            "verbs": ["get"],
        }
    ]
