"""How Prometheus finds the metrics, where its own operator is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiplift.kube.reviews import METRICS
from shiplift.operator import inside
from shiplift.operator.chart.template import raw

_ENDPOINT = {"port": inside.METRICS_PORT_NAME, "path": METRICS, "scheme": "https"}


def service_monitor(namespace: str) -> dict[str, Any]:
    """Prometheus proves itself by a token. A certificate of our own making nobody can verify: see `securing`;
    one that the user brings is verified."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": inside.NAME, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": inside.LABELS},
            "endpoints": [
                raw(f'merge (include "shiplift.trust" . | fromJson) ({_dict(_ENDPOINT)}) | toJson')
            ],
        },
    }


def _dict(entries: Mapping[str, str]) -> str:
    """As an expression of a template."""
    return " ".join(["dict", *(f'"{word}"' for entry in entries.items() for word in entry)])
