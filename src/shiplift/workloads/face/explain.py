"""`shiplift explain deploy/x`, or a pod of it: what a workload waits for and who waits for it.

Workloads are read of the whole cluster, since they wait for each other across namespaces; the rest only of
the namespace of the one that is meant. Where it has gates to pass, all that the operator reads is read, as
the operator reads it: its view is made here, without what it has seen and done before. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from shiplift.api.placements import PLACEMENT
from shiplift.api.workloads import WorkloadKind, WorkloadMigration
from shiplift.engine.step import Outcomes
from shiplift.face.parts import ExplainPart, FaceError, Question, Reader, ReadRefusedError
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Owner, Row
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from shiplift.kube.store import Snapshot
from shiplift.kube.watch import Watch
from shiplift.pdb.holds import is_hold
from shiplift.workloads.face import explanation_layout
from shiplift.workloads.face.explanation import Explanation, Key, Known, Workload, explanation, key_of
from shiplift.workloads.face.links import links, workloads
from shiplift.workloads.face.naming import KINDS, POD, Wanted, resolve, wanted
from shiplift.workloads.face.passage import Passage, passage
from shiplift.workloads.face.words import NO_PART
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import SKIP
from shiplift.workloads.observe.observer import READS, Observer

R = TypeVar("R", bound=Row)
_EVERYWHERE = (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.WORKLOAD_ORDER)
_NEAR = (kinds.POD, kinds.REPLICA_SET, kinds.POD_DISRUPTION_BUDGET, kinds.WORKLOAD_PLACEMENT)


def explained(reader: Reader, question: Question, now: int) -> Explanation:
    """All about the workload that is meant, or the workload of the pod that is."""
    migration: WorkloadMigration | None = next(iter(reader.objects(kinds.WORKLOAD_MIGRATION)), None)
    pod = _pod(reader, wanted(question)) if KINDS[question.kind] == POD else None
    meant = _workload_of(reader, pod) if pod else wanted(question)
    everywhere = reader.collected(map(Watch, _EVERYWHERE))
    there = {key_of(row): row for row in workloads(everywhere)}
    key = resolve(meant, reader.namespace, there)
    near = reader.collected([Watch(kinds.NODE), *(Watch(kind, namespace=key[1]) for kind in _NEAR)])
    known = _known(there[key], migration, everywhere, near)
    told = explanation(_Rows(everywhere, near), there[key], known, now, pod.name if pod else "")
    return msgspec.structs.replace(told, passage=_passage(reader, told, pod, now))


def _passage(reader: Reader, told: Explanation, pod: Pod | None, now: int) -> Passage | None:
    """What the pod or the workload has to pass; that a workload has nothing to pass its state says."""
    if told.phase in NO_PART:
        return Passage(instead=told.phase) if pod else None
    try:
        seen = reader.collected(map(Watch, READS))
    except ReadRefusedError as error:
        return Passage(instead=f"what it has to pass is not known: {error.message}")
    row = seen.by_uid(Pod, pod.uid) if pod else None
    if pod and row is None:
        return Passage(instead="it is gone")
    view = Observer(_Still(seen), lambda: None).observe(Outcomes())
    found = passage(view, WorkloadId(told.kind, told.namespace, told.name), row, now)
    return found if pod or found.workload else None


class _Still:
    """A store that shows one moment, which is all that an observer asks of it."""

    def __init__(self, seen: Snapshot) -> None:
        self._seen = seen

    def snapshot(self, *_of: Kind) -> Snapshot:
        return self._seen


def _pod(reader: Reader, meant: Wanted) -> Pod:
    """The pod of that name, wherever it is."""
    found = reader.collected([Watch(kinds.POD, meant.namespace, f"metadata.name={meant.name}")])
    there: dict[Key, Pod] = {(POD, pod.namespace, pod.name): pod for pod in found.all(Pod)}
    return there[resolve(meant, reader.namespace, there)]


def _workload_of(reader: Reader, pod: Pod) -> Wanted:
    """The Deployment or StatefulSet that made the pod, by itself or through a ReplicaSet."""
    owner = pod.controller
    if owner and owner.kind == ReplicaSet.__name__:
        sets = reader.collected([Watch(kinds.REPLICA_SET, pod.namespace, f"metadata.name={owner.name}")])
        made = next((row for row in sets.all(ReplicaSet) if row.uid == owner.uid), None)
        owner = made.controller if made and made.controller else owner
    if owner is None or owner.kind not in tuple(WorkloadKind):
        raise FaceError(
            f"pod {pod.namespace}/{pod.name} is of no workload that is moved: {_made_by(owner)}",
            "only pods of Deployments and StatefulSets are moved",
        )
    return Wanted(owner.kind, owner.name, pod.namespace)


def _made_by(owner: Owner | None) -> str:
    return f"{owner.kind} {owner.name} made it" if owner else "nothing controls it"


class _Rows:
    """Workloads of the whole cluster, the rest of one namespace."""

    def __init__(self, everywhere: Snapshot, near: Snapshot) -> None:
        self._everywhere, self._near = everywhere, near

    def all(self, rows: type[R]) -> Iterable[R]:
        return (self._everywhere if rows in (Deployment, StatefulSet) else self._near).all(rows)


def _known(
    workload: Workload, migration: WorkloadMigration | None, everywhere: Snapshot, near: Snapshot
) -> Known:
    placement = near.custom(kinds.WORKLOAD_PLACEMENT, PLACEMENT, workload.namespace)
    return Known(
        links=links(everywhere),
        migration=migration,
        placement=placement.object if placement else None,
        opted_out=frozenset(
            key_of(row) for row in workloads(everywhere) if row.annotations.get(SKIP) == "true"
        ),
        holds=frozenset(budget.name for budget in near.all(PodDisruptionBudget) if is_hold(budget)),
    )


EXPLAIN = ExplainPart[Explanation](
    words=frozenset(KINDS),
    forms=("deploy/NAME", "sts/NAME", "pod/NAME"),
    subject="workload that is moved",
    explained=explained,
    picture=explanation_layout.explanation,
)
