"""What the API server does with the steps of the layer: their preconditions, and what they change.

The patches are those that `act` makes, with the real ledger.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import msgspec

from shiplift.api.marks import HOLD_LEDGER, MANAGED_BY, MANAGER, UPGRADE_TAINT, label_value
from shiplift.api.placements import WorkloadPlacementSpec
from shiplift.api.workloads import WorkloadKind
from shiplift.drain.steps import ForgetEviction
from shiplift.engine import ledger
from shiplift.engine.ledger import Change
from shiplift.engine.step import Outcome, Step
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, Toleration
from shiplift.facts.workloads import HorizontalPodAutoscaler, PodDisruptionBudget
from shiplift.kube.outcomes import selector_json
from shiplift.workloads import steps
from shiplift.workloads.act.budgets import given_back, nothing_allowed
from shiplift.workloads.act.pods import DELETION_COST, FIRST_TO_GO
from shiplift.workloads.memory import InForce
from shiplift.workloads.names import FINALIZER, SURGE_LEDGER, hold_name
from shiplift.workloads.target import OUR_LABELS, OUR_TAINTS
from tests.model import nature
from tests.model.server import RefusedError, evict, with_patch
from tests.workloads.world import World

_SOON = timedelta(milliseconds=200)


def take(world: World, step: Step, proven: InForce) -> Outcome:
    """One step, and what came of it."""
    try:
        if isinstance(step, steps.CheckInForce):
            return _prove(world, step, proven)
        _take(world, step)
    except RefusedError as error:
        return Outcome.refused(step, str(error), _SOON)
    return Outcome.done(step)


def _take(world: World, step: Step) -> None:
    match step:
        case steps.MarkNode():
            _mark_node(world, step)
        case steps.WritePlacement():
            _write_placement(world, step)
        case steps.DeletePlacement():
            _delete_placement(world, step)
        case steps.PodStep():
            _change_pod(world, step)
        case steps.LetOn():
            _let_on(world, step)
        case steps.SetFinalizer():
            world.finalize(*((FINALIZER,) if step.present else ()))
        case steps.SetTolerations():
            _set_tolerations(world, step)
        case steps.Scale():
            _scale(world, step)
        case _:
            _take_over_budget(world, step)


def _take_over_budget(world: World, step: Step) -> None:
    match step:
        case steps.HoldBudget() | steps.RestoreBudget():
            _change_budget(world, step)
        case steps.MakeHold():
            _make_hold(world, step)
        case steps.DeleteHold():
            _delete_hold(world, step)
        case ForgetEviction():
            _forget_eviction(world, step)
        case _:
            raise TypeError(f"{type(step).__name__} is no step of this layer")


def _mark_node(world: World, step: steps.MarkNode) -> None:
    node = world.get(Node, step.uid)
    if node is None:
        raise RefusedError(f"node {step.name} is gone")
    labels = {key: value for key, value in node.labels.items() if key not in OUR_LABELS}
    taints = tuple(one for one in node.taints if one.key not in OUR_TAINTS)
    world.put(
        msgspec.structs.replace(
            node, labels=Labels({**labels, **step.labels}), taints=(*taints, *step.taints)
        )
    )


# --- placements ---


def _write_placement(world: World, step: steps.WritePlacement) -> None:
    known = world.placement(step.namespace)
    if step.uid and (known is None or (known.uid, known.resource_version) != (step.uid, step.version)):
        raise RefusedError("somebody else was faster")
    if not step.uid and known is not None:
        raise RefusedError("it exists already")
    spec = WorkloadPlacementSpec(target=step.target, turns=step.turns, ledger=step.ledger)
    world.write_placement(step.namespace, spec, step.finalizers)
    if known is not None and world.placement(step.namespace) is None and (step.turns or step.ledger):
        world.write_placement(step.namespace, spec)
    if not world.pace.params:
        world.learn()


def _delete_placement(world: World, step: steps.DeletePlacement) -> None:
    known = world.placement(step.namespace)
    if known is None or (known.uid, known.resource_version) != (step.uid, step.version):
        raise RefusedError("the object is gone, or somebody else was faster")
    world.end_placement(step.namespace)


def _prove(world: World, step: steps.CheckInForce, proven: InForce) -> Outcome:
    known = world.params.get(step.namespace) if world.answers else None
    seen = known.generation if known is not None and known.uid == step.uid else 0
    proven.note(step.uid, seen, proven.now())
    if seen < step.generation:
        return Outcome.refused(step, f"the API server goes by generation {seen}", _SOON)
    return Outcome.done(step)


# --- budgets ---


def _change_budget(world: World, step: steps.HoldBudget | steps.RestoreBudget) -> None:
    live = world.documents.get(step.uid)
    if live is None:
        raise RefusedError(f"budget {step.name} is gone")
    if isinstance(step, steps.RestoreBudget):
        patched = given_back(live)
    else:
        patched = ledger.change_in_place(live, HOLD_LEDGER, nothing_allowed(live))
    if patched.patch:
        world.write_budget(with_patch(live, patched.patch))


def _make_hold(world: World, step: steps.MakeHold) -> None:
    id_ = step.workload
    name = hold_name(WorkloadKind(id_.kind), id_.name)
    if world.named(PodDisruptionBudget, name, id_.namespace) is not None:
        raise RefusedError("it exists already")
    spec = {
        "maxUnavailable": 0,
        "selector": selector_json(step.selector),
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    meta = {"name": name, "namespace": id_.namespace, "labels": {MANAGED_BY: MANAGER}}
    meta |= {"uid": f"hold-{world.number()}", "generation": 1}
    world.write_budget({"kind": "PodDisruptionBudget", "metadata": meta, "spec": spec})


def _delete_hold(world: World, step: steps.DeleteHold) -> None:
    row = world.get(PodDisruptionBudget, step.uid)
    if row is None or row.resource_version != step.version:
        raise RefusedError("the object is gone, or somebody else was faster")
    del world.documents[step.uid]
    world.remove(row)


def _forget_eviction(world: World, step: ForgetEviction) -> None:
    row, pod = world.get(PodDisruptionBudget, step.uid), world.get(Pod, step.pod_uid)
    noted = world.noted.get((step.uid, step.pod))
    if row is None or noted is None:
        return
    if pod is None or pod.deleting or pod.created <= noted:
        raise RefusedError(f"pod {step.pod} may be about to go")
    del world.noted[step.uid, step.pod]
    world.put(
        msgspec.structs.replace(
            row, disrupted_pods=tuple(name for name in row.disrupted_pods if name != step.pod)
        )
    )


# --- pods ---


def _change_pod(world: World, step: steps.PodStep) -> None:
    pod = world.get(Pod, step.uid)
    if pod is None:
        raise RefusedError(f"pod {step.name} is gone")
    match step:
        case steps.Evict():
            evict(world, pod)
        case steps.Rescue():
            _let_on(world, step)
        case steps.MarkPod():
            world.put(msgspec.structs.replace(pod, annotations=_marked(pod, first=step.first_to_go)))
        case steps.Force() | steps.Replace():
            if pod.resource_version != step.version:
                raise RefusedError("somebody else was faster")
            nature.delete(world, pod)
        case _:
            raise TypeError(f"{type(step).__name__} is no step on a pod")


def _let_on(world: World, step: steps.Rescue | steps.LetOn) -> None:
    pod = world.get(Pod, step.uid)
    if pod is None or pod.node:
        raise RefusedError("it is gone, or on a node by now")
    more = (*pod.spec.tolerations, _toleration(step.target))
    world.put(msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, tolerations=more)))


def _marked(pod: Pod, *, first: bool) -> Labels:
    body = {"annotations": dict(pod.annotations)} if pod.annotations else {}
    document = {"kind": "Pod", "metadata": {"name": pod.name, **body}}
    patched = (
        ledger.change_in_place(document, SURGE_LEDGER, [Change(DELETION_COST, FIRST_TO_GO)])
        if first
        else ledger.undo_in_place(document, SURGE_LEDGER)
    )
    after = with_patch(document, patched.patch)
    return Labels(after["metadata"].get("annotations", {}))


def _toleration(target: str) -> Toleration:
    return Toleration(UPGRADE_TAINT, "Equal", label_value(target), "NoSchedule")


# --- workloads ---


def _set_tolerations(world: World, step: steps.SetTolerations) -> None:
    row = world.row_of(step.workload)
    if row is None or row.uid != step.uid:
        raise RefusedError(f"{step.workload} is gone")
    keeps = (UPGRADE_TAINT, label_value(step.keeps)) if step.keeps else None
    others = tuple(
        one for one in row.template.tolerations if one.key != UPGRADE_TAINT or (one.key, one.value) == keeps
    )
    wanted = (*others, _toleration(step.target)) if step.target else others
    template = msgspec.structs.replace(row.template, tolerations=wanted)
    if template != row.template:
        world.put(msgspec.structs.replace(row, template=template, generation=row.generation + 1))


def _scale(world: World, step: steps.Scale) -> None:
    row = world.get(HorizontalPodAutoscaler, step.uid) if step.autoscaler else world.row_of(step.workload)
    if row is None or (row.uid, row.resource_version) != (step.uid, step.version):
        raise RefusedError("the object is gone, or somebody else was faster")
    field = "min_replicas" if step.autoscaler else "replicas"
    fresh = msgspec.structs.replace(row, generation=row.generation + 1, **{field: step.replicas})
    world.put(cast("HorizontalPodAutoscaler", fresh))
