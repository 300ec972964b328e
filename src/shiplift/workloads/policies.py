"""Whether the admission policies of mode Inject are installed: looked at before a migration begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiplift.facts.kinds import MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.workloads.admission import PODS_POLICY

_KINDS = (MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING)


def installed(client: Client) -> bool | None:
    """True where policy and binding are there; None when that cannot be told now."""
    try:
        for kind in _KINDS:
            client.get(kind, PODS_POLICY)
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
            "resourceNames": [PODS_POLICY],
            "verbs": ["get"],
        }
    ]
