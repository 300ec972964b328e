"""The scenarios: a small cluster of an older version, what runs on it, an UpgradeConfig, and what happens
half-way. The operator runs all layers, and simulated agents run beside it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from shiplift.local.nodes import Pool
from tests.crash import suite
from tests.crash.nodes.scenarios import AGENTS
from tests.crash.plans import Spot
from tests.crash.workloads.shape import NEW, OLD, Workload

Json = dict[str, Any]
LAYERS = ("upgrade", "workloads", "nodes")
UPGRADE = MIGRATION = "cluster"
MAKE_ROLLOUT = "create noderollouts"
STATUS = "patch upgradeconfigs/status"
PLANE, WORKERS = f"upgrade-{NEW}-control-plane", f"upgrade-{NEW}-workers"


class HalfWay(StrEnum):
    """What somebody does once the upgrade is under way."""

    NOTHING = "nothing"
    PAUSE = "a user pauses once workers are begun, and resumes when nothing is in flight"
    ABORT = "a user aborts once workers are begun"
    DELETE = "a user deletes the UpgradeConfig once workers are begun"
    ANOTHER = "a user asks for another version once the control plane is begun"
    STRATEGY = "a user changes the strategy for nodes once workers are begun"


class Scenario(suite.Scenario, frozen=True):
    """What is there when the operator starts, and what happens then."""

    name: str
    spec: Json
    """Of the UpgradeConfig."""
    half_way: HalfWay = HalfWay.NOTHING
    phase: str = "Upgraded"
    """Of the UpgradeConfig, at the end; empty where it is gone."""
    version: str = NEW
    """Of the cluster, at the end."""
    migration: Json | None = None
    """The user's own WorkloadMigration; None where there is none."""

    @property
    def pools(self) -> tuple[Pool, ...]:
        plane = {"node-role.kubernetes.io/control-plane": ""}
        return (
            Pool(name="p", count=1, version=OLD, labels=plane),
            Pool(name="n", count=3, version=OLD),
        )

    @property
    def names(self) -> list[str]:
        return [name for pool in self.pools for name in pool.names()]

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return (
            Workload("database", kind="Deployment", replicas=2),
            Workload("web", kind="Deployment", replicas=2, after=("shop/database",)),
        )

    @property
    def interrupted(self) -> bool:
        """Whether it is open how far the upgrade comes."""
        return self.half_way in {HalfWay.ABORT, HalfWay.DELETE}

    def manifests(self) -> Iterator[Json]:
        for one in self.workloads:
            yield one.manifest()
        web = {"kind": "Deployment", "name": "web", "dependsOn": [{"kind": "Deployment", "name": "database"}]}
        yield _ours("WorkloadOrder", {"name": "order", "namespace": "shop"}, {"workloads": [web]})

    def ours(self) -> Iterator[Json]:
        """What the user asks of us, as the last."""
        if self.migration is not None:
            yield _ours("WorkloadMigration", {"name": MIGRATION}, self.migration)
        yield _ours("UpgradeConfig", {"name": UPGRADE}, self.spec)


def _ours(kind: str, about: Json, spec: Json) -> Json:
    return {"apiVersion": "shiplift.dev/v1alpha1", "kind": kind, "metadata": about, "spec": spec}


_QUICK: Json = {"waitForNodes": {"settle": "0s"}}
_SPEC: Json = {"desired": {"version": NEW}, "strategy": {"workloads": _QUICK}}
LATER = "v1.36.9"
PATIENT: Json = {"nodes": {"nodeTimeout": "40m"}}
"""The strategy that a user changes to half-way."""

_ALL = (
    Scenario("upgrade", _SPEC, outages=(Spot(MAKE_ROLLOUT), Spot(STATUS))),
    Scenario("own-migration", _SPEC, migration=_QUICK, repeats="upgrade"),
    Scenario("pause", _SPEC, HalfWay.PAUSE, migration=_QUICK, repeats="upgrade"),
    Scenario("abort", _SPEC, HalfWay.ABORT, "Failed", migration=_QUICK, repeats="upgrade"),
    Scenario("delete", _SPEC, HalfWay.DELETE, "", repeats="upgrade"),
    Scenario("another", _SPEC, HalfWay.ANOTHER, version=LATER, repeats="upgrade", takes=2),
    Scenario("strategy", _SPEC, HalfWay.STRATEGY, repeats="upgrade"),
)
ALL = tuple(
    msgspec.structs.replace(one, companions=(AGENTS,), layers=LAYERS, leaves_others=True) for one in _ALL
)
