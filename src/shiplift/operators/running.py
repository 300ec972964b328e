"""The operators that this layer runs in a cluster, as its OperatorVersions say."""

from __future__ import annotations

import msgspec

from shiplift.api.operators import OperatorVersion
from shiplift.facts.kinds import OPERATOR_VERSION
from shiplift.kube.client import Client
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.olm import Running


def installed(client: Client) -> list[Running]:
    """All that nobody deletes; `NotFound` where the cluster does not know the kind."""
    found = client.list(OPERATOR_VERSION)
    return [_running(one) for one in found if "deletionTimestamp" not in one["metadata"]]


def _running(one: dict[str, object]) -> Running:
    version = msgspec.convert(one, OperatorVersion)
    spec = version.spec
    bundle = Bundle(
        name=version.metadata.name,
        version=spec.version,
        min_kubernetes=spec.min_kubernetes_version or "",
        max_kubernetes=spec.max_kubernetes_version or "",
    )
    return Running(version.metadata.namespace, bundle)
