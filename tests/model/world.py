"""A small cluster in memory: rows in the store's own tables, and everything that users and clouds do to it.

What its controllers, its scheduler and its kubelets do is in `nature`, what its API server does in `server`.
All of it is told by rows alone, so that the observer of any layer can look at it. What the API server does by
a layer's own policies the layer adds in a subclass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar, cast

import msgspec

from benchmarks.rows import make
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Container, Pod, PodSpec
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import (
    Deployment,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from shiplift.kube.rows import KIND_OF
from shiplift.kube.store import Snapshot
from shiplift.kube.tables import Frozen, Lookup, PodLookup, Table

OLD, NEW = "v1.35.4", "v1.36.3"
SPACE = "shop"
Json = dict[str, Any]
Heard = Callable[[Kind, Row | None, Row | None], None]
R = TypeVar("R", bound=Row)
Owning = TypeVar("Owning", bound=Deployment | StatefulSet)


class Id(Protocol):
    """Names a Deployment or StatefulSet."""

    @property
    def kind(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


class Pace(msgspec.Struct, frozen=True):
    """What takes until the next tick instead of happening at once."""

    ready: bool = False
    """A pod becomes Ready."""
    leave: bool = False
    """A pod that was ended is gone."""


class World:
    """The cluster with the kinds that a layer reads; `snapshot` is what an observer asks of a store."""

    def __init__(self, reads: Iterable[Kind], pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        self.now = datetime(2026, 11, 1, tzinfo=UTC)
        self.listeners: list[Heard] = []
        self.documents: dict[str, Json] = {}
        """The PodDisruptionBudgets by uid, as users and we write them."""
        self.noted: dict[tuple[str, str], int] = {}
        """When the eviction of a pod was noted in a budget, by the budget's uid and the pod's name."""
        self.roles: set[tuple[str, str]] = set()
        """The workloads, by namespace and name, whose pods get a role at run time."""
        self.changes = 0
        self._numbers = 0
        self._tables = {
            kind: Table(
                PodLookup() if kind == kinds.POD else Lookup(), functools.partial(self._changed, kind)
            )
            for kind in reads
        }
        for table in self._tables.values():
            table.replace({}, 1)
        self.put(make(Namespace, SPACE, phase="Active"))

    # --- what a layer's policies do ---

    def admit_node(self, node: Node) -> Node:
        """A new node, as admission lets it in."""
        return node

    def admit_pod(self, owner: ReplicaSet | StatefulSet, spec: PodSpec) -> PodSpec:
        """The spec of a new pod of that owner, as admission lets it in."""
        return spec

    def learn(self) -> None:
        """The API server hears of what its policies go by."""

    # --- rows ---

    def snapshot(self, *of: Kind) -> Snapshot:
        return Snapshot({kind: self.frozen(kind) for kind in of or self._tables})

    def frozen(self, kind: Kind) -> Frozen:
        """One kind as it is now."""
        return self._tables[kind].freeze()

    def all(self, rows: type[R]) -> list[R]:
        return cast("list[R]", list(self._tables[KIND_OF[rows]].rows.values()))

    def get(self, rows: type[R], uid: str) -> R | None:
        return cast("R | None", self._tables[KIND_OF[rows]].rows.get(uid))

    def named(self, rows: type[R], name: str, namespace: str = SPACE) -> R | None:
        found = (one for one in self.all(rows) if one.name == name and one.namespace == namespace)
        return next(found, None)

    def customs(self, kind: Kind) -> list[Custom]:
        return cast("list[Custom]", list(self._tables[kind].rows.values()))

    def put(self, row: R, kind: Kind | None = None) -> R:
        """Write a row; one that says what is there already changes nothing."""
        table = self._tables[kind or KIND_OF[type(row)]]
        known = table.rows.get(row.uid)
        if known is not None and known.same_as(row):
            return cast("R", known)
        stamped = msgspec.structs.replace(row, resource_version=self.number())
        table.put(stamped)
        return stamped

    def remove(self, row: Row, kind: Kind | None = None) -> None:
        self._tables[kind or KIND_OF[type(row)]].remove(row.uid, self.number())

    def spoil(self, kind: Kind, name: str, why: str, namespace: str = SPACE) -> None:
        """An object that is there and of which no row can be made."""
        self._tables[kind].skip({f"{namespace}/{name}" if namespace else name: why})

    def unspoil(self, kind: Kind, name: str, namespace: str = SPACE) -> None:
        """The object of which no row can be made is deleted."""
        self._tables[kind].unskip(f"{namespace}/{name}" if namespace else name)

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _changed(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        self.changes += 1
        for heard in self.listeners:
            heard(kind, old, new)

    # --- what users and clouds make ---

    def node(self, name: str, version: str = OLD, room: int = 110, **given: Any) -> Node:
        """A node that is Ready, with room for so many pods."""
        amount = Resources(cpu=1 << 20, memory=1 << 50, storage=1 << 50, pods=room)
        labels = Labels({"kubernetes.io/hostname": name} | given.pop("labels", {}))
        bare = make(
            Node,
            name,
            uid=f"node-{name}-{self.number()}",
            kubelet_version=version,
            ready=True,
            allocatable=amount,
            capacity=amount,
            labels=labels,
            **given,
        )
        return self.put(self.admit_node(bare))

    def owner(
        self, type_: type[Owning], name: str, replicas: int = 1, namespace: str = SPACE, **given: Any
    ) -> Owning:
        """A Deployment or StatefulSet; its pods come with the next tick. `tier` is a label more."""
        if self.named(Namespace, namespace, "") is None:
            self.put(make(Namespace, namespace, phase="Active"))
        labels = Labels({"app": name} | ({"tier": given.pop("tier")} if given.get("tier") else {}))
        given.pop("tier", None)
        return self.put(
            make(
                type_,
                name,
                uid=f"{name}-{self.number()}",
                namespace=namespace,
                selector=Selector(Labels(app=name)),
                template=PodSpec(containers=(Container("main", f"example.com/{name}:1"),)),
                template_labels=labels,
                replicas=replicas,
                strategy="RollingUpdate",
                **given,
            )
        )

    def row_of(self, id_: Id) -> Deployment | StatefulSet | None:
        type_ = Deployment if id_.kind == kinds.DEPLOYMENT.kind else StatefulSet
        return self.named(type_, id_.name, id_.namespace)

    def budget(self, name: str, labels: Json, spec: Json, namespace: str = SPACE) -> str:
        """A user's PodDisruptionBudget; its uid."""
        uid = f"budget-{name}-{self.number()}"
        self.write_budget(
            {
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1},
                "spec": {**spec, "selector": {"matchLabels": labels}},
            }
        )
        return uid

    def write_budget(self, document: Json) -> None:
        """Keep the document, and its row with the status that it had."""
        meta, spec = document["metadata"], document["spec"]
        before = self.documents.get(meta["uid"])
        if before is not None and before["spec"] != spec:
            meta["generation"] += 1
        self.documents[meta["uid"]] = document
        known = self.get(PodDisruptionBudget, meta["uid"]) or make(PodDisruptionBudget, meta["name"])
        self.put(
            msgspec.structs.replace(
                known,
                namespace=meta["namespace"],
                uid=meta["uid"],
                generation=meta["generation"],
                labels=Labels(meta.get("labels", {})),
                annotations=Labels(meta.get("annotations", {})),
                selector=Selector(Labels(spec["selector"].get("matchLabels", {}))),
                min_available=spec.get("minAvailable"),
                max_unavailable=spec.get("maxUnavailable"),
                unhealthy_policy=spec.get("unhealthyPodEvictionPolicy", ""),
            )
        )

    def autoscaler(self, id_: Id, floor: int, ceiling: int, **given: Any) -> None:
        self.put(
            make(
                HorizontalPodAutoscaler,
                f"{id_.name}-scaler",
                namespace=id_.namespace,
                target_kind=id_.kind,
                target_name=id_.name,
                min_replicas=floor,
                max_replicas=ceiling,
                **given,
            )
        )

    def put_custom(
        self, kind: Kind, name: str, namespace: str, object_: Any, generation: int = 1, uid: str = ""
    ) -> None:
        """A custom resource."""
        uid = uid or f"{kind.kind}/{namespace}/{name}"
        row = make(Custom, name, namespace=namespace, uid=uid, generation=generation, object=object_)
        self.put(row, kind)

    # --- asking ---

    def pods(self, id_: Id) -> list[Pod]:
        """Its pods that are not on their way out."""
        mine = [pod for pod in self.all(Pod) if pod.namespace == id_.namespace and not pod.deleting]
        return [pod for pod in mine if pod.labels.get("app") == id_.name]

    def versions(self, id_: Id) -> list[str]:
        """The versions of the nodes that its pods are on."""
        versions = {node.name: node.kubelet_version for node in self.all(Node)}
        return sorted(versions.get(pod.node, "nowhere") for pod in self.pods(id_))

    def selecting(self, pod: Pod) -> list[PodDisruptionBudget]:
        """The budgets that cover a pod."""
        return [
            one
            for one in self.all(PodDisruptionBudget)
            if one.namespace == pod.namespace and one.selector and one.selector.matches(pod.labels)
        ]

    def covered(self, budget: PodDisruptionBudget) -> list[Pod]:
        """The pods that a budget covers and that are not on their way out."""
        selector, here = budget.selector, budget.namespace
        if selector is None:
            return []
        pods = (pod for pod in self.all(Pod) if pod.namespace == here and not pod.deleting)
        return [pod for pod in pods if selector.matches(pod.labels)]

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
