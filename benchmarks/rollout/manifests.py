"""The plan as Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.recipe.base import Json, image
from benchmarks.rollout.plan import NEW_VERSION, OLD_VERSION, Size, Times, Workload
from shiplift.local.nodes import Pool
from shiplift.local.stages import GONE_AFTER as GONE
from shiplift.local.stages import READY_AFTER as READY

ROLLOUT = "benchmark"
_POD_MILLICORES, _ROOM = 250, 3
"""A node has room for three times the pods that it has at the start."""


def pool(size: Size) -> Pool:
    cores = max(2, -(-_ROOM * size.pods_per_node * _POD_MILLICORES // 1000))
    return Pool(name="node", count=size.nodes, version=OLD_VERSION, cpu=str(cores))


def namespaces(workloads: Iterable[Workload]) -> list[Json]:
    names = sorted({one.namespace for one in workloads})
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]


def workload(one: Workload, times: Times) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _about(one),
        "spec": {
            "replicas": one.replicas,
            "selector": {"matchLabels": {"app": one.name}},
            "template": _template(one, times),
        },
    }


def budget(one: Workload) -> Json | None:
    if one.budget_percent is None:
        return None
    selector = {"matchLabels": {"app": one.name}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _about(one),
        "spec": {"selector": selector, "maxUnavailable": f"{one.budget_percent}%"},
    }


def rollout(size: Size) -> Json:
    return {
        "apiVersion": "shiplift.dev/v1alpha1",
        "kind": "NodeRollout",
        "metadata": {"name": ROLLOUT},
        "spec": {"version": NEW_VERSION, "maxUnavailable": size.max_unavailable},
    }


def _about(one: Workload) -> Json:
    return {"name": one.name, "namespace": one.namespace}


def _template(one: Workload, times: Times) -> Json:
    requests = {"cpu": f"{_POD_MILLICORES}m", "memory": "64Mi"}
    container = {"name": "main", "image": image(one.name, "1.0.0"), "resources": {"requests": requests}}
    return {
        "metadata": {
            "labels": {"app": one.name},
            "annotations": {READY: str(times.start), GONE: str(times.end)},
        },
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }
