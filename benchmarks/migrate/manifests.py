"""The plan as Kubernetes objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from benchmarks.migrate.plan import GONE_AFTER, Budget, Kind, Workload
from benchmarks.recipe.base import Json, image
from shiplift.local.nodes import Pool
from shiplift.local.stages import GONE_AFTER as GONE
from shiplift.local.stages import READY_AFTER as READY

OLD_VERSION, NEW_VERSION = "v1.35.4", "v1.36.3"
_NODE_CORES, _POD_MILLICORES = 8, 250
SLOTS_PER_NODE = _NODE_CORES * 1000 // _POD_MILLICORES


def old_nodes(count: int) -> Pool:
    return Pool(name="old", count=count, version=OLD_VERSION, cpu=str(_NODE_CORES))


def new_nodes(count: int) -> Pool:
    return Pool(name="new", count=count, version=NEW_VERSION, cpu=str(_NODE_CORES))


def namespaces(workloads: Iterable[Workload]) -> list[Json]:
    names = sorted({one.namespace for one in workloads})
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]


def workload(one: Workload) -> Json:
    spec = {
        "replicas": one.replicas,
        "selector": {"matchLabels": {"app": one.name}},
        "template": _template(one),
        **({"serviceName": one.name, "podManagementPolicy": "Parallel"} if _stateful(one) else {}),
    }
    return {"apiVersion": "apps/v1", "kind": one.kind.value, "metadata": _about(one), "spec": spec}


def budget(one: Workload) -> Json | None:
    if one.budget is None:
        return None
    spec = {"selector": {"matchLabels": {"app": one.name}}, **_limits(one.budget)}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _about(one),
        "spec": spec,
    }


def orders(workloads: Iterable[Workload]) -> list[Json]:
    """One WorkloadOrder for each namespace; dependencies cross namespaces."""
    known = {one.name: one for one in workloads}
    by_space: dict[str, list[Json]] = defaultdict(list)
    for one in known.values():
        if one.depends_on:
            others = [_reference(known[name]) for name in one.depends_on]
            by_space[one.namespace].append({**_reference(one), "dependsOn": others})
    return [
        {
            "apiVersion": "shiplift.dev/v1alpha1",
            "kind": "WorkloadOrder",
            "metadata": {"name": "order", "namespace": space},
            "spec": {"workloads": entries},
        }
        for space, entries in by_space.items()
    ]


def _reference(one: Workload) -> Json:
    return {"kind": one.kind.value, "name": one.name, "namespace": one.namespace}


def _about(one: Workload) -> Json:
    return {"name": one.name, "namespace": one.namespace}


def _stateful(one: Workload) -> bool:
    return one.kind is Kind.STATEFUL_SET


def _template(one: Workload) -> Json:
    requests = {"cpu": f"{_POD_MILLICORES}m", "memory": "256Mi"}
    container = {"name": "main", "image": image(one.name, "1.0.0"), "resources": {"requests": requests}}
    return {
        "metadata": {
            "labels": {"app": one.name},
            "annotations": {READY: str(one.ready_after), GONE: str(GONE_AFTER)},
        },
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }


def _limits(budget: Budget) -> Json:
    if budget.max_unavailable is not None:
        return {"maxUnavailable": budget.max_unavailable}
    if budget.max_percent is not None:
        return {"maxUnavailable": f"{budget.max_percent}%"}
    return {"minAvailable": f"{budget.min_percent}%"}
