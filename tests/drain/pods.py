"""Pods, budgets and nodes as a drain sees them."""

from __future__ import annotations

from typing import Any

from benchmarks.rows import make
from shiplift.drain.filters import Around
from shiplift.drain.model import Presence, Settings
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.pods import Pod, PodSpec, Toleration
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import PodDisruptionBudget

NOW = 1_800_000_000
NODE = "node-1"
REPLICA_SET = Owner("ReplicaSet", "web-5d8f", "rs", controller=True, api_version="apps/v1")
DAEMON_SET = Owner("DaemonSet", "proxy", "ds", controller=True, api_version="apps/v1")
STATEFUL_SET = Owner("StatefulSet", "db", "sts", controller=True, api_version="apps/v1")
MIRROR = Labels({"kubernetes.io/config.mirror": "3f2a"})
EVERYTHING = Toleration(operator="Exists")


def a_pod(name: str = "web-1", owner: Owner | None = REPLICA_SET, **given: Any) -> Pod:
    """A pod of a Deployment, Ready, unless told otherwise."""
    spec = {name: given.pop(name) for name in PodSpec.__struct_fields__ if name in given}
    labels = Labels(given.pop("labels", {"app": "web"}))
    known: dict[str, Any] = {
        "namespace": "shop",
        "node": NODE,
        "phase": "Running",
        "ready": True,
        "uid": name,
    }
    owners = (owner,) if owner else ()
    return make(Pod, name, spec=PodSpec(**spec), labels=labels, owners=owners, **known | given)


def a_budget(name: str = "web", allowed: int = 0, **given: Any) -> PodDisruptionBudget:
    """One that needs two of three pods healthy, unless told otherwise."""
    selector = Selector(Labels(given.pop("selects", {"app": "web"})))
    known: dict[str, Any] = {
        "namespace": "shop",
        "min_available": 2,
        "expected_pods": 3,
        "desired_healthy": 2,
        "current_healthy": 2 + allowed,
        "disruptions_allowed": allowed,
        "observed_generation": 1,
    }
    return make(PodDisruptionBudget, name, selector=selector, **known | given)


def around(
    presence: Presence = Presence.THERE, late: bool = False, ours: bool = False, **settings: Any
) -> Around:
    return Around(Settings(**settings), lambda _: presence, NOW, lambda _: late, lambda _: ours)
