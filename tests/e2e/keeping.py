"""Pods that nobody may evict, until somebody takes their budget away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shiplift.facts import kinds
from shiplift.kube.client import Client
from tests.until import until

_NAME, _SPACE = "kept", "default"
_LABELS = {"e2e": _NAME}


def keep_a_pod(client: Client, node: str) -> None:
    """One on a node, and its budget."""
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10.2"}
    place = {"kubernetes.io/hostname": node}
    pod = {"containers": [container], "nodeSelector": place, "terminationGracePeriodSeconds": 1}
    template = {"metadata": {"labels": _LABELS}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": template}
    client.create(kinds.DEPLOYMENT, {"metadata": {"name": _NAME}, "spec": spec}, _SPACE)
    _forbid(client, _LABELS, _SPACE)
    until(lambda: _is_available(client), 60, 0.5)


def let_it_go(client: Client) -> None:
    """The pod, too."""
    _allow(client, _SPACE)
    _delete(client, kinds.DEPLOYMENT, _SPACE)


@contextmanager
def a_kept_pod(client: Client, node: str) -> Iterator[None]:
    keep_a_pod(client, node)
    try:
        yield
    finally:
        let_it_go(client)


@contextmanager
def kept(client: Client, labels: dict[str, str], space: str) -> Iterator[None]:
    """Pods that are there."""
    _forbid(client, labels, space)
    try:
        yield
    finally:
        _allow(client, space)


def _forbid(client: Client, labels: dict[str, str], space: str) -> None:
    spec = {"selector": {"matchLabels": labels}, "maxUnavailable": 0}
    client.create(kinds.POD_DISRUPTION_BUDGET, {"metadata": {"name": _NAME}, "spec": spec}, space)


def _allow(client: Client, space: str) -> None:
    _delete(client, kinds.POD_DISRUPTION_BUDGET, space)


def _delete(client: Client, kind: Any, space: str) -> None:
    client.delete(kind, _NAME, space, uid=client.get(kind, _NAME, space)["metadata"]["uid"])


def _is_available(client: Client) -> bool:
    found = client.get(kinds.DEPLOYMENT, _NAME, _SPACE)
    return found.get("status", {}).get("availableReplicas", 0) == 1
