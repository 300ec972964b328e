"""The containers of the recipe's pods, as a service team's chart renders them."""

from __future__ import annotations

import random

from benchmarks.recipe.base import Json, image

_REQUESTS = (
    ("100m", "128Mi"),
    ("250m", "256Mi"),
    ("250m", "512Mi"),
    ("500m", "1Gi"),
    ("1", "2Gi"),
    ("2", "4Gi"),
)


def application(name: str, team: str, version: str, rng: random.Random) -> Json:
    """The container that does the work."""
    cpu, memory = rng.choice(_REQUESTS)
    return {
        "name": "app",
        "image": image(f"{team}/{name}", version),
        "imagePullPolicy": "IfNotPresent",
        "args": ["serve", "--listen=:8080", f"--service={name}", "--log-format=json"],
        "ports": [_port("http", 8080), _port("metrics", 9090)],
        "env": _environment(name, rng),
        "envFrom": [{"configMapRef": {"name": f"{name}-env"}}],
        "resources": {
            "requests": {"cpu": cpu, "memory": memory},
            "limits": {"memory": memory},
        },
        "livenessProbe": _probe("/healthz", "http", 10),
        "readinessProbe": _probe("/readyz", "http", 5),
        "startupProbe": _probe("/healthz", "http", 2) | {"failureThreshold": 60},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
        "securityContext": _locked_down(),
    }


def sidecar() -> Json:
    """The proxy that runs beside it, the same everywhere."""
    return {
        "name": "proxy",
        "image": image("platform/proxy", "2.31.4"),
        "imagePullPolicy": "IfNotPresent",
        "args": ["proxy", "sidecar", "--log_output_level=default:info"],
        "ports": [_port("http-proxy", 15090)],
        "env": [
            _from_field("POD_NAME", "metadata.name"),
            _from_field("POD_NAMESPACE", "metadata.namespace"),
            _from_field("INSTANCE_IP", "status.podIP"),
            {"name": "DISCOVERY_ADDRESS", "value": "discovery.mesh-system.svc:15012"},
            {"name": "TRUST_DOMAIN", "value": "cluster.local"},
        ],
        "resources": {
            "requests": {"cpu": "50m", "memory": "64Mi"},
            "limits": {"cpu": "500m", "memory": "256Mi"},
        },
        "readinessProbe": _probe("/healthz/ready", 15021, 15),
        "volumeMounts": [{"name": "proxy-data", "mountPath": "/var/lib/proxy"}],
        "securityContext": _locked_down(),
    }


def agent(name: str, port: int) -> Json:
    """A node agent, as a DaemonSet runs it."""
    return {
        "name": name,
        "image": image(f"platform/{name}", "1.18.2"),
        "env": [_from_field("NODE_NAME", "spec.nodeName"), _from_field("POD_IP", "status.podIP")],
        "ports": [{"name": "metrics", "containerPort": port, "hostPort": port}],
        "resources": {"requests": {"cpu": "25m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": _probe("/healthz", port, 30),
        "readinessProbe": _probe("/healthz", port, 10),
        "volumeMounts": [
            {"name": "run", "mountPath": "/run/agent"},
            {"name": "host", "mountPath": "/host", "readOnly": True},
        ],
        "securityContext": {"privileged": True},
    }


def _environment(name: str, rng: random.Random) -> list[Json]:
    plain = [
        {"name": f"APP_{key}", "value": f"{name}.{key.lower()}.{rng.randrange(1000)}.svc.cluster.local"}
        for key in (
            "DATABASE_HOST",
            "CACHE_HOST",
            "QUEUE_HOST",
            "SEARCH_HOST",
            "TRACE_ENDPOINT",
            "FLAGS_HOST",
        )
    ]
    secrets = [
        {"name": f"APP_{key}", "valueFrom": {"secretKeyRef": {"name": f"{name}-secrets", "key": key.lower()}}}
        for key in ("DATABASE_PASSWORD", "API_KEY", "SIGNING_KEY")
    ]
    return [*plain, *secrets, _from_field("POD_NAME", "metadata.name"), _from_field("NODE", "spec.nodeName")]


def _from_field(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _port(name: str, number: int) -> Json:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _probe(path: str, port: str | int, period: int) -> Json:
    return {
        "httpGet": {"path": path, "port": port, "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": 3,
    }


def _locked_down() -> Json:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "capabilities": {"drop": ["ALL"]},
    }
