"""The operator of this layer on the cluster in memory, and a judge who sees every moment of what it does."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, cast

from shiplift.api.placements import Turn, WorkloadPlacement
from shiplift.api.workloads import MigrationState, Mode, OnBlockedWorkload, OnCycle, OnMissing
from shiplift.drain.steps import ForgetEviction
from shiplift.engine.budgets import Disruptions
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts.custom import Custom
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import HorizontalPodAutoscaler, PodDisruptionBudget, ReplicaSet
from shiplift.kube.store import Store
from shiplift.pdb.holds import is_hold, is_made_by_us
from shiplift.workloads import steps
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Migrating
from shiplift.workloads.names import SKIP, SURGE_LEDGER
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.observe.tally import is_rolling
from shiplift.workloads.target import OUR_LABELS, OUR_TAINTS
from shiplift.workloads.tell.report import WEIGHT, status_of
from tests.model import nature
from tests.model import players as model
from tests.workloads import server
from tests.workloads.world import World

Pairs = Iterable[tuple[WorkloadId, WorkloadId]]
_CONTESTED = steps.HoldBudget | steps.SetTolerations | steps.Scale | steps.Replace


class Operator(model.Operator[Migrating]):
    """One life of the operator with this layer."""

    _world: World
    _judge: Judge | None

    def __init__(
        self, world: World, judge: Judge | None = None, *, slow: bool = False, late: bool = False
    ) -> None:
        super().__init__(world, judge, slow=slow, late=late)
        self._observer = Observer(cast("Store", self._news), lambda: world.inject, now=lambda: world.now)
        self._news.tell(self._observer.heard)

    def _decide(self, known: Outcomes) -> Migrating:
        return decide(self._observer.observe(known), self._world.now)

    def _send(self, step: Step) -> Outcome:
        outcome = server.take(self._world, step, self._observer.in_force)
        if outcome.ok and isinstance(step, _CONTESTED):
            self._note(step)
        if outcome.ok:
            self._observer.evictions.note(step)
        return outcome

    def _shows_in_pods(self, step: Step) -> bool:
        return isinstance(step, steps.PodStep)

    def _note(self, step: Step) -> None:
        """As the real actor does: a change to what is not ours was made."""
        self._observer.changes.note(step, self._world.now)

    def _publish(self, decision: Migrating) -> bool:
        migration = self._world.migration
        if migration is None or decision.view.migration is None:
            return False
        evicted = self._observer.evictions.untold()
        after = status_of(decision, evicted)
        self._world.publish(after)
        self._observer.evictions.told(evicted)
        return WEIGHT.pressing(migration.status, after)


def run(
    world: World, judge: Judge | None = None, *, operator: Operator | None = None, slow: bool = False
) -> Operator:
    """Until nothing changes any more. `slow`: evictions take effect some rounds after they are asked for."""
    operator = operator or Operator(world, judge, slow=slow)
    model.run(world, operator, judge)
    return operator


def finish(
    world: World, judge: Judge | None = None, *, slow: bool = False, operator: Operator | None = None
) -> Operator:
    """Run, let the cloud take away old nodes that are empty, run on."""
    operator = run(world, judge, slow=slow, operator=operator)
    for _ in range(3):
        before = world.changes
        drop_empty_nodes(world)
        if world.changes == before:
            break
        run(world, judge, operator=operator)
    operator.die()
    return operator


def drop_empty_nodes(world: World) -> None:
    """Old nodes without a pod, once everybody has arrived."""
    migration = world.migration
    if migration is None or migration.status.state is not MigrationState.UPGRADE:
        return
    if migration.status.progress.done < migration.status.progress.total:
        return
    busy = {pod.node for pod in world.all(Pod)}
    for node in world.all(Node):
        if node.kubelet_version != migration.status.target and node.name not in busy:
            world.remove(node)


class Judge:
    """What has to be true at every moment, worked out from pods and declarations alone."""

    def __init__(self, world: World, needs: Pairs = (), ids: Iterable[WorkloadId] = ()) -> None:
        self._world = world
        self.ids = set(ids)
        self.needs: dict[WorkloadId, set[WorkloadId]] = {}
        for dependent, dependency in needs:
            self.needs.setdefault(dependent, set()).add(dependency)
        self.arrived: set[WorkloadId] = set()
        self.evicted: dict[str, int] = {}
        self.refusals: list[str] = []
        self.held: list[str] = []
        """Holds that were made, or laid on budgets of users."""
        self.forgotten: list[str] = []
        """Pods whose eviction a budget was made to forget."""
        self.begun_with = {pod.uid for pod in world.all(Pod)}
        self.target = ""
        self.undisturbed = True
        """Whether nobody but the operator changes anything."""
        rows = [row for id_ in self.ids if (row := world.row_of(id_)) is not None]
        self._replicas = {row.uid: row.replicas for row in rows}

    # --- order ---

    def before(self, step: Step) -> None:
        self._note_arrivals()
        match step:
            case steps.Evict() if self._was_sent_for_another_target(step):
                pass
            case steps.Evict() | steps.Force() | steps.MarkPod(first_to_go=True):
                self._may_move(step.workload, step)
                self._everybody_has_a_place()
            case steps.MakeHold() | steps.HoldBudget():
                self.held.append(step.describe())
            case ForgetEviction():
                self.forgotten.append(step.pod)
            case steps.SetTolerations() if step.target:
                self._may_move(step.workload, step)
            case steps.WritePlacement():
                for owner, turn in step.turns.items():
                    kind, _, name = owner.partition(".")
                    id_ = WorkloadId(kind, step.namespace, name)
                    if turn is Turn.RELEASED and id_ not in self.arrived:
                        self._may_move(id_, step)
            case _:
                pass

    def _was_sent_for_another_target(self, step: steps.Evict) -> bool:
        """And was under way when the target changed: it leaves a node that is one of the target now."""
        node = self._world.named(Node, step.node, "")
        return not self.undisturbed and node is not None and node.kubelet_version == self.target

    def _may_move(self, id_: WorkloadId, step: Step) -> None:
        migration = self._world.migration
        assert migration is not None, f"nobody asked for {step.describe()}"
        status = migration.status
        excused = {one.workload for one in status.exceptions}
        if str(id_) in excused or status.emptying or self._strands(id_):
            return
        for other in self.needs.get(id_, set()) - self._fellows(id_, migration.spec.on_cycle):
            row = self._world.row_of(other)
            if row is None and migration.spec.on_missing is OnMissing.IGNORE:
                continue
            gone = row is None and other in self.arrived
            assert other in self.arrived or gone, f"{step.describe()}, but {other} has not arrived"

    def _everybody_has_a_place(self) -> None:
        """Before the first pod moves, the API server was told about all namespaces."""
        migration = self._world.migration
        if migration is None or migration.status.mode is not Mode.INJECT or not self.undisturbed:
            return
        rows = [row for id_ in self.ids if (row := self._world.row_of(id_)) is not None]
        needed = {row.namespace for row in rows if row.annotations.get(SKIP) != "true"}
        placed = {row.namespace for row in self._world.placements()}
        assert needed <= placed, f"nobody told the API server about {needed - placed}"

    def _strands(self, id_: WorkloadId) -> bool:
        """A pod of it can go nowhere, because somebody closed the old nodes."""
        closed = any(node.unschedulable for node in self._world.all(Node))
        return (closed or not self.undisturbed) and any(pod.unschedulable for pod in self._world.pods(id_))

    def _fellows(self, id_: WorkloadId, on_cycle: OnCycle) -> set[WorkloadId]:
        """Those of a cycle, where a cycle moves as one."""
        if on_cycle is not OnCycle.COLLAPSE:
            return set()
        return {other for other in self._reach(id_) if id_ in self._reach(other)}

    def _reach(self, id_: WorkloadId) -> set[WorkloadId]:
        found: set[WorkloadId] = set()
        rest = [id_]
        while rest:
            for other in self.needs.get(rest.pop(), ()):
                if other not in found:
                    found.add(other)
                    rest.append(other)
        return found

    # --- every moment ---

    def after(self, step: Step, *, done: bool) -> None:
        if isinstance(step, steps.Evict | steps.Force):
            if done:
                self.evicted[step.uid] = self.evicted.get(step.uid, 0) + 1
                self._moved_once(step)
            elif self.undisturbed:
                self.refusals.append(step.describe())
        self.look()

    def _moved_once(self, step: steps.Evict | steps.Force) -> None:
        migration = self._world.migration
        emptying = migration is not None and migration.status.emptying
        if self.undisturbed and not emptying:
            assert step.uid in self.begun_with, f"{step.describe()} a second time"

    def look(self) -> None:
        """Now."""
        self._note_arrivals()
        self._never_two_budgets()
        migration = self._world.migration
        if self.undisturbed and migration and migration.spec.on_blocked is not OnBlockedWorkload.FORCE:
            # no budget limits a rollout, and in mode Template it is rollouts that move pods
            if migration.spec.mode is not Mode.TEMPLATE:
                self._nobody_under_budget()
            self._nobody_under_its_own_limit()

    def _note_arrivals(self) -> None:
        migration = self._world.migration
        target = (migration.status.target or "") if migration else ""
        if target != self.target:
            self.target, self.arrived = target, set()
            self.begun_with = {pod.uid for pod in self._world.all(Pod)}
        if not target:
            return
        for _ in self.ids:
            before = len(self.arrived)
            self.arrived |= {id_ for id_ in self.ids - self.arrived if self._is_there(id_)}
            if len(self.arrived) == before:
                return

    def _is_there(self, id_: WorkloadId) -> bool:
        row = self._world.row_of(id_)
        if row is None:
            return False
        if row.annotations.get(SKIP) == "true":
            return True
        sets = [
            one for one in self._world.all(ReplicaSet) if one.controller and one.controller.uid == row.uid
        ]
        if is_rolling(row, sets):
            return False
        if not row.replicas:
            return self.needs.get(id_, set()) - self._reach_back(id_) <= self.arrived
        pods = self._world.pods(id_)
        there = self._world.versions(id_) == [self.target] * row.replicas
        return there and all(pod.ready for pod in pods)

    def _reach_back(self, id_: WorkloadId) -> set[WorkloadId]:
        return {other for other in self._reach(id_) if id_ in self._reach(other)}

    def _never_two_budgets(self) -> None:
        for pod in self._world.all(Pod):
            budgets = self._world.selecting(pod)
            if len(budgets) > 1:
                assert not any(is_made_by_us(one) for one in budgets), (
                    f"pod {pod.name} has a second budget of ours"
                )

    def _nobody_under_budget(self) -> None:
        """By pods, not by what a budget's status says."""
        for budget in self._world.all(PodDisruptionBudget):
            if is_hold(budget):
                continue
            needed = self._needed(budget)
            ready = sum(pod.ready for pod in self._world.covered(budget))
            assert ready >= needed, f"{budget.name} needs {needed} healthy pods and has {ready}"

    def _needed(self, budget: PodDisruptionBudget) -> int:
        if budget.selector and nature.ROLE in budget.selector.labels:
            assert isinstance(budget.min_available, int)
            return budget.min_available
        wanted = self._wanted(budget)
        limits = Disruptions(budget.min_available, budget.max_unavailable)
        return min(limits.desired_healthy(wanted), wanted)

    def _wanted(self, budget: PodDisruptionBudget) -> int:
        """As many as there were before us: a replica more for the time of a move does not count."""
        rows = [row for id_ in self.ids if (row := self._world.row_of(id_)) is not None]
        return sum(
            self._replicas.get(row.uid, row.replicas)
            for row in rows
            if row.namespace == budget.namespace
            and budget.selector
            and budget.selector.matches(row.template_labels)
        )

    def _nobody_under_its_own_limit(self) -> None:
        """Without a budget: what a Deployment says may be away, and one pod of a StatefulSet."""
        for id_ in self.ids:
            row = self._world.row_of(id_)
            pods = self._world.pods(id_)
            by_roles = (id_.namespace, id_.name) in self._world.roles
            if row is None or by_roles or any(self._world.selecting(pod) for pod in pods):
                continue
            most = max(row.replicas // 4, 1)
            ready = sum(pod.ready for pod in pods)
            assert ready >= self._replicas[row.uid] - most, f"{id_} has {ready} of {row.replicas} pods"


def residue(world: World) -> list[str]:
    """What of ours is still in the cluster; inert tolerations, which stay on purpose, apart."""
    found = [f"placement {row.namespace}" for row in world.placements() if not _inert(row.object)]
    found += [f"hold {one.name}" for one in world.all(PodDisruptionBudget) if is_hold(one)]
    for node in world.all(Node):
        found += [f"{key} on {node.name}" for key in node.labels if key in OUR_LABELS]
        found += [f"taint {one.key} on {node.name}" for one in node.taints if one.key in OUR_TAINTS]
    found += [f"mark on {pod.name}" for pod in world.all(Pod) if SURGE_LEDGER in pod.annotations]
    return found


def _inert(placement: WorkloadPlacement) -> bool:
    spec = placement.spec
    return bool(spec.ledger) and not spec.turns and all('"inert"' in text for text in spec.ledger.values())


def budgets_of(world: World) -> dict[str, Any]:
    """Every PodDisruptionBudget as it is written, but for how often it was."""
    documents = {uid: copy.deepcopy(one) for uid, one in sorted(world.documents.items())}
    for one in documents.values():
        del one["metadata"]["generation"], one["metadata"]["uid"]
    return {one["metadata"]["name"]: one for one in documents.values()}


def normal(world: World, ids: Iterable[WorkloadId]) -> dict[str, Any]:
    """The cluster without what is free: which node of a version, which uid, which revision."""
    migration = world.migration
    status = migration.status if migration else None
    uids = {row.uid: str(id_) for id_ in ids if (row := world.row_of(id_)) is not None}
    return {
        "places": {str(id_): world.versions(id_) for id_ in ids},
        "ready": {str(id_): sum(pod.ready for pod in world.pods(id_)) for id_ in ids},
        "replicas": {str(id_): row.replicas for id_ in ids if (row := world.row_of(id_)) is not None},
        "tolerations": {
            str(id_): row.template.tolerations for id_ in ids if (row := world.row_of(id_)) is not None
        },
        "floors": {one.name: one.min_replicas for one in world.all(HorizontalPodAutoscaler)},
        "budgets": budgets_of(world),
        "nodes": sorted(
            (
                node.kubelet_version,
                *sorted(key for key in node.labels if key in OUR_LABELS),
                *map(str, node.taints),
            )
            for node in world.all(Node)
        ),
        "turns": {
            row.namespace: dict(row.object.spec.turns) for row in world.placements() if row.object.spec.turns
        },
        "records": {
            f"{row.namespace} {owner}": text
            for row in world.placements()
            for owner, text in _records(world, row)
        },
        "state": (status.state, status.target, status.mode) if status else None,
        "met": sorted(uids.get(uid, "") for uid in status.met) if status else None,
    }


def _records(world: World, row: Custom) -> Iterable[tuple[str, str]]:
    """But those of workloads without pods: whether one is written before they count as moved is chance."""
    for owner, text in row.object.spec.ledger.items():
        kind, _, name = owner.partition(".")
        workload = world.row_of(WorkloadId(kind, row.namespace, name))
        if workload is None or workload.replicas:
            yield owner, text
