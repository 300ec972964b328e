"""The files that the components of a cluster read: certificates, kubeconfigs and configurations."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from shiplift.local import pki, stages
from shiplift.local.components import Component, Layout, Ports, Settings
from shiplift.local.private import write_private

Json = dict[str, Any]


def write_all(layout: Layout, settings: Settings, ports: Ports) -> None:
    """Everything but the cluster's data; all of it private to the user."""
    layout.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    pki.write_all(layout.pki)
    server = f"https://127.0.0.1:{ports.api}"
    _write_json(layout, "kubeconfig", kubeconfig(layout, "admin", server))
    for user in (Component.CONTROLLERS, Component.SCHEDULER, Component.KWOK):
        _write_json(layout, f"pki/{user}.kubeconfig", kubeconfig(layout, user, server))
    _write_json(layout, layout.scheduler_config.name, _scheduler_config(layout))
    _write_json(layout, layout.audit_policy.name, _audit_policy())
    write_stages(layout, settings)


def write_stages(layout: Layout, settings: Settings) -> None:
    write_private(layout.stages, stages.render(settings.timing).encode())


def kubeconfig(layout: Layout, user: str, server: str) -> Json:
    """Certificates inline, so that the file may be copied elsewhere."""
    name = f"shiplift-{layout.folder.name}"
    cluster = {"server": server, "certificate-authority-data": _inline(layout, "ca.crt")}
    credentials = {
        "client-certificate-data": _inline(layout, f"{user}.crt"),
        "client-key-data": _inline(layout, f"{user}.key"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": credentials}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }


def _scheduler_config(layout: Layout) -> Json:
    kubeconfig_path = str(layout.user_kubeconfig(Component.SCHEDULER))
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig_path, "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
    }


def _audit_policy() -> Json:
    secret = {
        "level": "Metadata",
        "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}],
    }
    writes = {
        "level": "RequestResponse",
        "verbs": ["create", "update", "patch", "delete", "deletecollection"],
    }
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [secret, writes, {"level": "Metadata"}],
    }


def _inline(layout: Layout, name: str) -> str:
    return base64.b64encode((layout.pki / name).read_bytes()).decode()


def _write_json(layout: Layout, name: str, content: Json) -> None:
    write_private(layout.folder / name, msgspec.json.format(msgspec.json.encode(content), indent=2))
