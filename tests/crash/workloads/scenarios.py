"""The scenarios: workloads, their order, their budgets, nodes of two versions, and what a user does half-way.

Each is data; `manifests` are the objects of it that exist before the operator starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from shiplift.local.nodes import Pool
from tests.crash import suite
from tests.crash.workloads.shape import NEW, NEW_POOL, OLD_POOL, PRIMARY, REPLICA, Json, Workload


class HalfWay(StrEnum):
    """What the user does once half of the workloads are on the new nodes."""

    NOTHING = "nothing"
    ABORT = "abort"
    ROLL_BACK = "roll back"


class Bystander(StrEnum):
    """What somebody else does half-way."""

    NOBODY = "nobody"
    STRIPS_THE_FENCE = "strips the fence's annotations"
    REMOVES_THE_BINDING = "removes the binding of shiplift-pods and puts it back"
    DRAINS = "cordons an old node and evicts its pods"
    MISTAKES_A_POD = "takes a pod that is back for the one that was evicted, as the disruption controller may"


class Scenario(suite.Scenario, frozen=True):
    """What is there when the operator starts, and what the user does half-way."""

    name: str
    workloads: tuple[Workload, ...]
    spec: Json
    """Of the WorkloadMigration."""
    half_way: HalfWay = HalfWay.NOTHING
    bystander: Bystander = Bystander.NOBODY
    free_placement: bool = False
    """Whether it is open where the pods are at the end."""
    linger: float = 0.0
    """How long the cloud leaves old nodes after everybody has moved, in seconds."""
    dies: str = ""
    """A workload of one pod that dies while it is held."""
    new: tuple[Pool, ...] = (NEW_POOL,)
    """The nodes of the new version; none where old ones are changed in place as soon as they are empty."""
    later: tuple[Pool, ...] = ()
    """Those that the cloud adds when the bystander is done."""
    half: int = 0
    """How many workloads, from the first, are half of the way; half of them where it is 0."""

    @property
    def namespaces(self) -> list[str]:
        return sorted({one.namespace for one in self.workloads})

    @property
    def destination(self) -> str:
        """The pool that all pods are on at the end."""
        return OLD_POOL.name if self.half_way is HalfWay.ROLL_BACK else NEW_POOL.name

    @property
    def in_place(self) -> bool:
        return not self.new

    @property
    def forces(self) -> bool:
        """Whether the user lets us go past budgets."""
        return self.spec.get("onBlocked") == "Force"

    @property
    def first_half(self) -> tuple[Workload, ...]:
        return self.workloads[: self.half or len(self.workloads) // 2]

    @property
    def interrupted(self) -> bool:
        """Whether somebody steps in half-way: then how far things had come is open."""
        return self.half_way is not HalfWay.NOTHING or self.unsteered

    @property
    def unsteered(self) -> bool:
        """Whether new pods get no rule of ours for a while: who comes then may have to move once more."""
        return self.bystander is Bystander.REMOVES_THE_BINDING

    def workload(self, id_: str) -> Workload:
        return next(one for one in self.workloads if one.id == id_)

    def manifests(self) -> Iterator[Json]:
        for one in self.workloads:
            yield one.manifest()
            yield from one.pdbs()
        for namespace in self.namespaces:
            if order := self._order(namespace):
                yield order

    def migration(self) -> Json:
        """The nodes are there from the start: none is waited for."""
        return _ours("WorkloadMigration", {"name": "cluster"}, {"waitForNodes": {"settle": "0s"}} | self.spec)

    def _order(self, namespace: str) -> Json:
        listed = [
            {"kind": one.kind, "name": one.name, "dependsOn": [self._ref(other) for other in one.after]}
            for one in self.workloads
            if one.namespace == namespace and one.after
        ]
        return (
            _ours("WorkloadOrder", {"name": "order", "namespace": namespace}, {"workloads": listed})
            if listed
            else {}
        )

    def _ref(self, id_: str) -> Json:
        other = self.workload(id_)
        return {"kind": other.kind, "name": other.name, "namespace": other.namespace}


def _ours(kind: str, about: Json, spec: Json) -> Json:
    return {"apiVersion": "shiplift.dev/v1alpha1", "kind": kind, "metadata": about, "spec": spec}


def _chain(*replicas: int) -> tuple[Workload, ...]:
    names = ("disk", "database", "queue", "worker")
    return tuple(
        Workload(name, replicas=count, after=(f"shop/{before}",) if before else ())
        for name, before, count in zip(names, ("", *names), replicas, strict=False)
    )


DIAMOND = (
    Workload("database", namespace="data", replicas=2),
    Workload("api", kind="Deployment", replicas=2, after=("data/database",), ready_after=0.4),
    Workload("cache", namespace="data", after=("data/database",)),
    Workload("web", kind="Deployment", after=("shop/api", "data/cache")),
)
RING = (
    Workload("one", kind="Deployment", after=("shop/three",)),
    Workload("two", after=("shop/one",)),
    Workload("three", after=("shop/two",)),
    Workload("last", after=("shop/three",)),
)
BUDGETED = (
    Workload("database", replicas=2, budget={"minAvailable": 1}),
    Workload("api", kind="Deployment", replicas=2, after=("shop/database",), budget={"maxUnavailable": 1}),
    Workload("web", kind="Deployment", replicas=1, after=("shop/api",)),
)
LABELLED = (
    Workload("disk"),
    Workload(
        "database",
        replicas=3,
        after=("shop/disk",),
        roles={PRIMARY: {"minAvailable": 0}, REPLICA: {"minAvailable": 1}},
    ),
    Workload("web", kind="Deployment", replicas=2, after=("shop/database",)),
)

MISTAKEN = (
    Workload("database", replicas=2, budget={"maxUnavailable": 1}, ready_after=0.4),
    Workload("web", kind="Deployment", after=("shop/database",)),
)
DRAINED = (
    Workload("disk"),
    Workload("queue", after=("shop/disk",)),
    Workload("web", after=("shop/queue",)),
    Workload("api", kind="Deployment", replicas=2, after=("shop/queue",), budget={"maxUnavailable": 1}),
)
PACKED = (
    Workload("database", replicas=3),
    Workload("api", kind="Deployment", replicas=2, after=("shop/database",), budget={"maxUnavailable": 1}),
)
NEVER_LET_GO = (
    Workload("api", kind="Deployment", replicas=2, budget={"maxUnavailable": 0}),
    Workload("web", after=("shop/api",)),
)
STRICT = (
    Workload("database", replicas=2, budget={"minAvailable": 2}, ready_after=0.4),
    Workload("web", kind="Deployment", after=("shop/database",)),
)
_SMALL = Pool(name="new", count=1, version=NEW, pods=1)
_MORE = Pool(name="new", count=1, version=NEW, first=1)
_NARROW = Pool(name="new", count=2, version=NEW, cpu="1", memory="1Gi")
"""The scheduler rather takes old nodes, so that a pod that nothing steers comes back to one."""

ALL = (
    Scenario("chain", _chain(1, 2, 1, 1), {"mode": "Inject"}),
    Scenario("diamond", DIAMOND, {"mode": "Inject"}, dies="shop/web", repeats="chain"),
    Scenario("ring", RING, {"mode": "Inject", "onCycle": "Collapse"}, linger=0.8, repeats="chain"),
    Scenario("budgets", BUDGETED, {"mode": "Inject", "hold": "Always"}),
    Scenario("labels", LABELLED, {"mode": "Inject", "hold": "Always"}, repeats="budgets"),
    Scenario(
        "abort",
        BUDGETED,
        {"mode": "Inject", "hold": "Always"},
        HalfWay.ABORT,
        free_placement=True,
        repeats="budgets",
    ),
    Scenario(
        "rollback", _chain(1, 1, 1, 1), {"mode": "Inject", "target": NEW}, HalfWay.ROLL_BACK, repeats="chain"
    ),
    Scenario(
        "stripped-fence",
        _chain(1, 2, 1, 1),
        {"mode": "Inject"},
        bystander=Bystander.STRIPS_THE_FENCE,
        repeats="chain",
    ),
    Scenario(
        "binding-gone",
        _chain(1, 1, 2, 2),
        {"mode": "Inject"},
        bystander=Bystander.REMOVES_THE_BINDING,
        new=(_NARROW,),
        repeats="chain",
    ),
    Scenario(
        "mistaken-pod",
        MISTAKEN,
        {"mode": "Inject"},
        bystander=Bystander.MISTAKES_A_POD,
        repeats="chain",
    ),
    Scenario(
        "foreign-drain",
        DRAINED,
        {"mode": "Inject"},
        bystander=Bystander.DRAINS,
        new=(_SMALL,),
        later=(_MORE,),
        half=1,
        repeats="budgets",
    ),
    Scenario(
        "consolidate",
        PACKED,
        {"mode": "Inject", "target": NEW, "onNoCapacity": "Consolidate"},
        new=(),
        repeats="chain",
    ),
    Scenario("surge", NEVER_LET_GO, {"mode": "Inject", "onBlocked": "Surge"}, repeats="chain"),
    Scenario("force", STRICT, {"mode": "Inject", "onBlocked": "Force"}, repeats="chain"),
    Scenario("template-chain", _chain(1, 2, 1, 1), {"mode": "Template"}),
    Scenario(
        "template-budgets",
        BUDGETED,
        {"mode": "Template", "hold": "Always", "cleanup": "Immediate"},
        repeats="template-chain",
    ),
)
