"""Objects that tests put into a real API server."""

from __future__ import annotations

from typing import Any


def pod(name: str, *, node: str = "", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "app", "image": "example/app:1"}
    placed = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"containers": [container], **placed, **spec},
    }


def deployment(name: str, replicas: int = 1, **template: Any) -> dict[str, Any]:
    labels = {"app": name}
    spec = {"containers": [{"name": "app", "image": "example/app:1"}], **template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def uid(thing: dict[str, Any]) -> str:
    return thing["metadata"]["uid"]
