"""Rows made by hand, for tests that need no API server."""

from __future__ import annotations

from typing import Any

from benchmarks.rows import make
from shiplift.facts.cluster import Namespace
from shiplift.facts.pods import Pod


def a_pod(uid: str, version: int = 1, *, namespace: str = "shop", name: str = "", **given: Any) -> Pod:
    running: dict[str, Any] = {"phase": "Running", "ready": True} | given
    return make(Pod, name or uid, uid=uid, resource_version=version, namespace=namespace, **running)


def a_namespace(uid: str, version: int = 1, *, name: str = "") -> Namespace:
    return make(Namespace, name or uid, uid=uid, resource_version=version, phase="Active")
