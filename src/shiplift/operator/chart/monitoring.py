"""How Prometheus finds the metrics, where its own operator is installed."""

from __future__ import annotations

from typing import Any

from shiplift.kube.reviews import METRICS
from shiplift.operator import inside


def service_monitor(namespace: str) -> dict[str, Any]:
    """Prometheus proves itself by its own token. Our certificate is of our own making: see `securing`."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": inside.NAME, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": inside.LABELS},
            "endpoints": [
                {
                    "port": inside.METRICS_PORT_NAME,
                    "path": METRICS,
                    "scheme": "https",
                    "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                    "tlsConfig": {"insecureSkipVerify": True},
                }
            ],
        },
    }
