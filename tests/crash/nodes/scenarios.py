"""The scenarios: nodes of an older version, what runs on them, a rollout, and what happens half-way.

Each is data. Times are set so that a run takes seconds: agents work for tenths of a second, and the Lease of
a node with an order is renewed at least every second.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from shiplift.local.agents import FAILS, Failure, Pace, Timing
from shiplift.local.agents.account import ACCOUNT
from shiplift.local.nodes import Pool
from tests.crash import suite
from tests.crash.outside import Companion
from tests.crash.plans import Spot
from tests.crash.workloads.shape import NEW, OLD, Workload

Json = dict[str, Any]
ROLLOUT, MIGRATION = "rollout", "cluster"
AGENTS = Companion("agents", ACCOUNT, "tests.crash.nodes.agents:play")
PACE = Pace(change=0.2, reboot=0.2)
TIMING = Timing(heartbeat=60.0, lease=0.5)
CONTAINERD = "2.1.5"
"""Another version of the minor that simulated nodes have: it can be put back."""

CORDON = "patch nodes [annotations+spec.unschedulable]"
ORDER = "patch nodes [annotations]"
RELEASE = "patch nodes [-annotations+spec.unschedulable]"
STATUS = "patch noderollouts/status"
ANSWER = "agents: patch nodes [annotations]"


class HalfWay(StrEnum):
    """What somebody does once the rollout is under way."""

    NOTHING = "nothing"
    LIFT = "a user lifts the budget that blocks a drain"
    ABORT = "a user aborts when the first node is changed and the next is being changed"
    FAIL = "the change of a node fails, once it is prepared"
    LIE = "a thief of a node's credentials lies about it, while its agent is dead"


class Scenario(suite.Scenario, frozen=True):
    """What is there when the operator starts, and what happens then."""

    name: str
    pools: tuple[Pool, ...]
    workloads: tuple[Workload, ...]
    spec: Json
    """Of the NodeRollout."""
    half_way: HalfWay = HalfWay.NOTHING
    phase: str = "Complete"
    """Of the rollout, at the end."""
    victim: str = ""
    """The node that it happens to."""
    by_hand: tuple[str, ...] = ()
    """Nodes that somebody has cordoned before, and that stay so."""
    migration: Json = msgspec.field(default_factory=dict[str, Any])
    """Of the WorkloadMigration beside it; none when empty."""

    @property
    def names(self) -> list[str]:
        return [name for pool in self.pools for name in pool.names()]

    @property
    def interrupted(self) -> bool:
        """Whether it is open how far the rollout comes."""
        return self.half_way is HalfWay.ABORT

    @property
    def most_away(self) -> int:
        return self.spec.get("maxUnavailable", 1)

    def manifests(self) -> Iterator[Json]:
        for one in self.workloads:
            yield one.manifest()
            yield from one.pdbs()
        if order := self._order():
            yield order

    def ours(self) -> Iterator[Json]:
        """What the user asks of us, as the last."""
        if self.migration:
            yield _ours("WorkloadMigration", {"name": MIGRATION}, self.migration)
        yield _ours("NodeRollout", {"name": ROLLOUT}, self.spec)

    def _order(self) -> Json:
        listed = [
            {"kind": one.kind, "name": one.name, "dependsOn": [self._ref(other) for other in one.after]}
            for one in self.workloads
            if one.after
        ]
        return (
            _ours("WorkloadOrder", {"name": "order", "namespace": "shop"}, {"workloads": listed})
            if listed
            else {}
        )

    def _ref(self, id_: str) -> Json:
        other = next(one for one in self.workloads if one.id == id_)
        return {"kind": other.kind, "name": other.name, "namespace": other.namespace}


def _ours(kind: str, about: Json, spec: Json) -> Json:
    return {"apiVersion": "shiplift.dev/v1alpha1", "kind": kind, "metadata": about, "spec": spec}


def _workers(count: int, **more: Any) -> Pool:
    return Pool(name="n", count=count, version=OLD, **more)


_WEB = Workload("web", kind="Deployment", replicas=3, budget={"maxUnavailable": 1})
_DATABASE = Workload("database", replicas=2, budget={"minAvailable": 1})
_KEPT = Workload("web", kind="Deployment", replicas=2, budget={"maxUnavailable": 0})
_SMALL = Workload("web", kind="Deployment", replicas=2, budget={"minAvailable": 1})
_PLANE = Pool(name="p", count=1, version=OLD, labels={"node-role.kubernetes.io/control-plane": ""})
_SOFTWARE: Json = {"software": [{"name": "containerd", "version": CONTAINERD}]}

_ALL = (
    Scenario(
        "rollout",
        (_workers(4),),
        (_WEB, _DATABASE),
        {"version": NEW, "maxUnavailable": 2},
        by_hand=("n-3",),
        outages=(Spot(CORDON), Spot(ORDER, "n-0", 2), Spot(ANSWER, "n-0", 5), Spot(RELEASE)),
    ),
    Scenario("blocked", (_workers(2),), (_KEPT,), {"version": NEW}, HalfWay.LIFT, repeats="rollout"),
    Scenario(
        "abort",
        (_workers(3),),
        (_SMALL,),
        {"version": NEW},
        HalfWay.ABORT,
        "Aborted",
        repeats="rollout",
    ),
    Scenario(
        "canary",
        (
            _workers(1, annotations={FAILS: Failure.WRONG_VERSION.value}),
            _workers(2, first=1),
        ),
        (_SMALL,),
        {**_SOFTWARE, "maxUnavailable": 2, "maxFailures": 2, "canary": {"nodes": 1, "soak": "1s"}},
        phase="Stopped",
        victim="n-0",
        repeats="rollout",
    ),
    Scenario(
        "fails",
        (_workers(3),),
        (_SMALL,),
        _SOFTWARE,
        HalfWay.FAIL,
        "Stopped",
        victim="n-1",
        repeats="rollout",
    ),
    Scenario(
        "thief",
        (_workers(2),),
        (_SMALL,),
        {"version": NEW, "nodeTimeout": "4s"},
        HalfWay.LIE,
        "Stopped",
        victim="n-0",
        repeats="rollout",
    ),
    Scenario(
        "control-plane",
        (_PLANE, _workers(2)),
        (_SMALL,),
        {"version": NEW, "maxUnavailable": 2},
        repeats="rollout",
    ),
    Scenario(
        "beside-workloads",
        (_workers(3),),
        (
            Workload("database", kind="Deployment", replicas=2),
            Workload("web", kind="Deployment", replicas=2, after=("shop/database",)),
        ),
        {"version": NEW},
        migration={"target": NEW, "waitForNodes": {"settle": "0s"}},
        layers=("workloads", "nodes"),
        repeats="rollout",
    ),
)
ALL = tuple(msgspec.structs.replace(one, companions=(AGENTS,)) for one in _ALL)
