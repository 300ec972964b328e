"""What this layer does to a cluster, one write each. Every step is harmless when it comes late or twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from shiplift.api.placements import PLACEMENT, Turn
from shiplift.api.workloads import WorkloadKind
from shiplift.engine.step import Outcomes, Step
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Taint
from shiplift.facts.selectors import Selector
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import hold_name


class MarkNode(Step, frozen=True):
    """Give a node the labels and taints of its role; all others of ours come off."""

    PREFIX: ClassVar[str] = "mark node "
    name: str
    uid: str
    labels: Labels
    taints: tuple[Taint, ...]
    retaint: bool
    """Whether its taints change: that list is replaced as a whole, so it has to be read first."""

    @property
    def key(self) -> str:
        return f"{self.PREFIX}{self.uid}"

    @property
    def marks(self) -> tuple[str, ...]:
        return (
            *(f"{key}={value}" for key, value in sorted(self.labels.items())),
            *(f"{one.key}={one.value}:{one.effect}" for one in self.taints),
        )

    @property
    def change(self) -> str:
        """Known by what is put on the node: other marks later are no sign that somebody undid these."""
        return " ".join((self.key, *self.marks))

    def undone_by_others(self) -> str:
        return (
            f"node {self.name}: somebody else takes our marks off ({', '.join(self.marks)});"
            " keep them from it while the migration runs"
        )

    def describe(self) -> str:
        if not self.marks:
            return f"take our marks off node {self.name}"
        return f"mark node {self.name} with {', '.join(self.marks)}"


class SetFinalizer(Step, frozen=True):
    """See to it that the WorkloadMigration is not gone before all is undone; or that it may go."""

    uid: str
    present: bool

    @property
    def key(self) -> str:
        return f"finalizer {self.uid} {self.present}"

    @property
    def change(self) -> str:
        return self._put_on if self.present else ""

    @property
    def takes_back(self) -> str:
        return "" if self.present else self._put_on

    @property
    def _put_on(self) -> str:
        return f"finalizer {self.uid}"

    def undone_by_others(self) -> str:
        return (
            "WorkloadMigration cluster: somebody else takes our finalizer off; without it, deleting the"
            " WorkloadMigration while no operator runs would leave what we changed"
        )

    def describe(self) -> str:
        if self.present:
            return "put our finalizer on WorkloadMigration cluster"
        return "take our finalizer off WorkloadMigration cluster"


def _made_placement(namespace: str) -> str:
    return f"make placement {namespace}"


class WritePlacement(Step, frozen=True):
    """Say where new pods of a namespace go; without a uid the object is made."""

    namespace: str
    uid: str
    version: int
    target: str
    turns: dict[str, Turn]
    ledger: dict[str, str]
    news: str
    """What is new in it, for people."""
    finalizers: tuple[str, ...] | None = None
    """All that it is to have, where these are others than it has."""

    @property
    def key(self) -> str:
        return self.key_for(self.namespace)

    @staticmethod
    def key_for(namespace: str) -> str:
        return f"write placement {namespace}"

    @property
    def change(self) -> str:
        """That it was made: what it says becomes something else again and again."""
        return "" if self.uid else _made_placement(self.namespace)

    def undone_by_others(self) -> str:
        return (
            f"WorkloadPlacement {self.namespace}/{PLACEMENT} is deleted by somebody else; without it nothing"
            " steers new pods of its namespace: keep them from it while the migration runs"
        )

    def describe(self) -> str:
        return f"tell the API server where new pods of {self.namespace} go: {self.news}"


class CheckInForce(Step, frozen=True):
    """See that every API server goes by what a placement says; nothing is changed."""

    namespace: str
    uid: str
    generation: int

    @property
    def key(self) -> str:
        return f"prove placement {self.uid}"

    def describe(self) -> str:
        return f"check that the placement of {self.namespace} is in force"


class DeletePlacement(Step, frozen=True):
    """New pods of a namespace go anywhere again."""

    namespace: str
    uid: str
    version: int

    @property
    def key(self) -> str:
        return f"delete placement {self.uid}"

    @property
    def takes_back(self) -> str:
        return _made_placement(self.namespace)

    def describe(self) -> str:
        return f"let new pods of {self.namespace} go anywhere"


class PodStep(Step, frozen=True):
    """A step that ends or changes one pod."""

    workload: WorkloadId
    name: str
    uid: str

    @property
    def pod(self) -> str:
        return f"{self.workload.namespace}/{self.name}"


_EVICT = "evict "


def evicted_by_us(uid: str, outcomes: Outcomes) -> bool:
    """Whether the eviction of that pod, by uid, was ours, as far as is remembered."""
    key = f"{_EVICT}{uid}"
    last = outcomes.last.get(key)
    return key in outcomes.running or (last is not None and last.ok)


def evicting(running: Iterable[str]) -> frozenset[str]:
    """The pods, by uid, whose eviction is under way, from the keys of the steps that are."""
    return frozenset(key.removeprefix(_EVICT) for key in running if key.startswith(_EVICT))


class Evict(PodStep, frozen=True):
    """Move a pod: its replacement may only go to target nodes. Webhooks and budgets can hold it up."""

    aside: ClassVar[bool] = True
    node: str
    over: str
    """What it would conflict over with others: its budget, else its workload."""
    placement: str = ""
    generation: int = 0
    """The placement, by its uid, that has to be in force when the pod goes; none in mode Template."""
    makes_room: bool = False
    """Whether it only goes to another old node."""

    @property
    def key(self) -> str:
        return f"{_EVICT}{self.uid}"

    @property
    def lane(self) -> str:
        """Side by side they would conflict, and the API server answers that by waiting half a second."""
        return self.over

    def describe(self) -> str:
        return f"move pod {self.pod} of {self.workload} away from node {self.node}"


class Force(PodStep, frozen=True):
    """Move a pod that no PodDisruptionBudget lets go, because the user said so."""

    version: int
    node: str
    placement: str = ""
    generation: int = 0

    @property
    def key(self) -> str:
        return f"force {self.uid}"

    def describe(self) -> str:
        return f"move pod {self.pod} of {self.workload} away from node {self.node}, past its budget"


class Replace(PodStep, frozen=True):
    """End a pod that no node will ever take as it is, so that it is made again as it should be.

    In the version in which no node took it: it may have found one since, and is its budget's to let go then.
    """

    version: int
    placement: str = ""
    generation: int = 0

    @property
    def key(self) -> str:
        return f"replace {self.uid}"

    @property
    def change(self) -> str:
        """By its workload: where the next pods are like this one, they are not deleted at full speed."""
        return f"replace pods of {self.workload}"

    def describe(self) -> str:
        return f"have pending pod {self.pod} of {self.workload} made again, for the nodes that are left"


class Rescue(PodStep, frozen=True):
    """Let a pending pod of a held workload go to target nodes, because nothing else is left for it."""

    target: str

    @property
    def key(self) -> str:
        return f"rescue {self.uid}"

    def describe(self) -> str:
        return f"let pending pod {self.pod} of {self.workload} go to target nodes before its turn"


class MarkPod(PodStep, frozen=True):
    """Make a pod the first to go when its ReplicaSet shrinks, or take that back."""

    first_to_go: bool

    @property
    def key(self) -> str:
        return f"mark pod {self.uid}"

    def describe(self) -> str:
        place = "first" if self.first_to_go else "no longer first"
        return f"put pod {self.pod} of {self.workload} {place} to go"


class LetOn(Step, frozen=True):
    """Let a pending pod that is not moved go to target nodes, because the user said so."""

    namespace: str
    name: str
    uid: str
    target: str

    @property
    def key(self) -> str:
        return f"let on {self.uid}"

    def describe(self) -> str:
        return f"let pending pod {self.namespace}/{self.name}, which is not moved, go to target nodes"


def _held(uid: str) -> str:
    return f"hold budget {uid}"


class HoldBudget(Step, frozen=True):
    """Make a user's PodDisruptionBudget allow nothing; what it said is kept on it."""

    workload: WorkloadId
    name: str
    uid: str

    @property
    def key(self) -> str:
        return _held(self.uid)

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"PodDisruptionBudget {self.workload.namespace}/{self.name} is held by us and somebody else"
            " undoes it; stop applying it while the migration runs,"
            " or set spec.hold of WorkloadMigration cluster to OnForeignDrain"
        )

    def describe(self) -> str:
        return f"hold {self.workload} by its PodDisruptionBudget {self.workload.namespace}/{self.name}"


def _made_hold(namespace: str, name: str) -> str:
    return f"make hold {namespace}/{name}"


class MakeHold(Step, frozen=True):
    """Make a PodDisruptionBudget of ours for a workload that has none."""

    workload: WorkloadId
    selector: Selector

    @property
    def key(self) -> str:
        return f"make hold {self.workload}"

    @property
    def name(self) -> str:
        """Of the budget."""
        return hold_name(WorkloadKind(self.workload.kind), self.workload.name)

    @property
    def change(self) -> str:
        return _made_hold(self.workload.namespace, self.name)

    def undone_by_others(self) -> str:
        return (
            f"PodDisruptionBudget {self.workload.namespace}/{self.name}, by which we hold {self.workload}, is"
            " deleted by somebody else; keep them from it while the migration runs,"
            " or set spec.hold of WorkloadMigration cluster to OnForeignDrain"
        )

    def describe(self) -> str:
        return f"hold {self.workload} by a PodDisruptionBudget of ours"


class RestoreBudget(Step, frozen=True):
    """Give a user's PodDisruptionBudget back what it said."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"restore budget {self.uid}"

    @property
    def takes_back(self) -> str:
        return _held(self.uid)

    def describe(self) -> str:
        return f"give PodDisruptionBudget {self.namespace}/{self.name} back what it said"


class DeleteHold(Step, frozen=True):
    """Delete a PodDisruptionBudget of ours."""

    namespace: str
    name: str
    uid: str
    version: int

    @property
    def key(self) -> str:
        return f"delete hold {self.uid}"

    @property
    def takes_back(self) -> str:
        return _made_hold(self.namespace, self.name)

    def describe(self) -> str:
        return f"delete our PodDisruptionBudget {self.namespace}/{self.name}"


class SetTolerations(Step, frozen=True):
    """Give a workload's template our toleration for a target, or none of ours."""

    workload: WorkloadId
    uid: str
    target: str
    again: bool = False
    """Whether somebody has taken it off since it was given."""
    keeps: str = ""
    """The target for which it has one of the owner's."""

    @property
    def key(self) -> str:
        return f"tolerate {self.uid} {self.target}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"{self.workload}: somebody else takes our toleration off again; leave its template's"
            " tolerations alone while the migration runs, or use mode Inject"
        )

    def describe(self) -> str:
        if not self.target:
            return f"take our toleration off {self.workload}"
        return f"release {self.workload}: its pods tolerate the target nodes"


def raised(uid: str) -> str:
    """The change that a surge makes to replicas, by the uid of what asks for them."""
    return f"raise {uid}"


class Scale(Step, frozen=True):
    """Change how many replicas a workload, or the floor of its autoscaler, asks for."""

    workload: WorkloadId
    autoscaler: str
    uid: str
    version: int
    replicas: int
    why: str
    raises: bool = False

    @property
    def key(self) -> str:
        return f"scale {self.uid}"

    @property
    def change(self) -> str:
        return raised(self.uid) if self.raises else ""

    @property
    def takes_back(self) -> str:
        return "" if self.raises else raised(self.uid)

    def undone_by_others(self) -> str:
        what = f"minReplicas of its autoscaler {self.autoscaler}" if self.autoscaler else "its replicas"
        return (
            f"{self.workload}: somebody else sets {what} back while a surge moves its pods;"
            " keep them from it while the migration runs"
        )

    def describe(self) -> str:
        what = (
            f"the floor of autoscaler {self.autoscaler} of {self.workload}"
            if self.autoscaler
            else f"{self.workload}"
        )
        return f"set {what} to {self.replicas}: {self.why}"
