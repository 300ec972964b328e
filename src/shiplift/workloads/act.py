"""Takes steps: one write each, its preconditions make it harmless when late. Nothing is decided here."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from shiplift.api.workloads import WorkloadKind
from shiplift.engine import ledger
from shiplift.engine.ledger import Change, LedgerError
from shiplift.engine.pointer import ABSENT, get, pointer
from shiplift.engine.step import Outcome, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.selectors import Selector
from shiplift.kube.client import Client, PatchType, Written
from shiplift.kube.errors import (
    AlreadyExists,
    BudgetExhausted,
    BudgetPending,
    Conflict,
    KubeError,
    NotFound,
    PreconditionFailed,
    ServerError,
    Throttled,
    Unknown,
    Unreachable,
)
from shiplift.workloads import policies, steps
from shiplift.workloads.admission import PODS_POLICY
from shiplift.workloads.aim import OUR_LABELS, OUR_TAINTS
from shiplift.workloads.evictions import Evictions
from shiplift.workloads.model import Taken
from shiplift.workloads.names import (
    HOLD_LEDGER,
    MANAGED_BY,
    MANAGER,
    PLACEMENT,
    SURGE_LEDGER,
    UPGRADE_TAINT,
    hold_name,
    label_value,
)
from shiplift.workloads.proof import InForce, Proof, Proven

WORKLOADS: Mapping[str, Kind] = {
    WorkloadKind.DEPLOYMENT: kinds.DEPLOYMENT,
    WorkloadKind.STATEFUL_SET: kinds.STATEFUL_SET,
}
DELETION_COST = "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost"
FIRST_TO_GO = "-2147483648"
TEMPLATE_TOLERATIONS = "/spec/template/spec/tolerations"
_SOON = timedelta(milliseconds=200)
_LATER = timedelta(milliseconds=500)

Json = dict[str, Any]
Patch = list[dict[str, Any]]
_BudgetStep = (
    steps.HoldBudget | steps.MakeHold | steps.RestoreBudget | steps.DeleteHold | steps.ForgetEviction
)


class Actor:
    """Takes the steps of this layer through one client.

    `proven` notes which placements are in force, `taken` what was changed that is not ours, `evictions` whose
    pods were evicted.
    """

    def __init__(
        self, client: Client, proven: Proven, taken: dict[str, Taken], evictions: Evictions | None = None
    ) -> None:
        self._client = client
        self._proof = Proof(client)
        self._proven = proven
        self._taken = taken
        self._evictions = evictions or Evictions()

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            outcome = self._take(step)
            if isinstance(step, steps.HoldBudget | steps.SetTolerations | steps.MarkNode):
                self._note(step)
            elif isinstance(step, steps.RestoreBudget):
                self._taken.pop(f"hold budget {step.uid}", None)
            return outcome
        except Unknown as error:
            return Outcome.unknown(step, error.message)
        except KubeError as error:
            return _refusal(step, error)
        except LedgerError as error:
            return Outcome.failed(step, f"{error} (hint: {error.hint})")

    def _note(self, step: Step) -> None:
        """A change to what is not ours was made: if it is needed again, somebody undid it."""
        change = steps.change_of(step)
        before = self._taken.get(change)
        self._taken[change] = Taken(before.times + 1 if before else 1, datetime.now(UTC))

    def _take(self, step: Step) -> Outcome:
        match step:
            case steps.MarkNode():
                return self._mark_node(step)
            case steps.WritePlacement() | steps.ProvePlacement() | steps.DeletePlacement():
                return self._placement(step)
            case (
                steps.HoldBudget()
                | steps.MakeHold()
                | steps.RestoreBudget()
                | steps.DeleteHold()
                | steps.ForgetEviction()
            ):
                return self._budget(step)
            case steps.PodStep():
                return self._pod(step)
            case steps.SetTolerations():
                return self._set_tolerations(step)
            case steps.Scale():
                return self._scale(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    # --- nodes ---

    def _mark_node(self, step: steps.MarkNode) -> Outcome:
        if not step.retaint:
            labels = {key: step.labels.get(key) for key in OUR_LABELS}
            written = self._client.patch(
                kinds.NODE, step.name, {"metadata": {"labels": labels}}, uid=step.uid
            )
            return _done(step, written)
        live = self._client.get(kinds.NODE, step.name)
        if _uid(live) != step.uid:
            return Outcome.done(step, message="another node has its name now")
        have: Json = live["metadata"].get("labels") or {}
        labels = {key: step.labels.get(key) for key in OUR_LABELS if have.get(key) != step.labels.get(key)}
        old: list[Json] = live["spec"].get("taints") or []
        wanted = [{"key": one.key, "value": one.value, "effect": one.effect} for one in step.taints]
        taints = [one for one in old if one["key"] not in OUR_TAINTS] + wanted
        patch: Json = {"metadata": {"labels": labels}} if labels else {}
        if _shapes(taints) != _shapes(old):
            patch["spec"] = {"taints": taints}
        if not patch:
            return Outcome.done(step)
        written = self._client.patch(
            kinds.NODE, step.name, patch, uid=step.uid, resource_version=_version(live)
        )
        return _done(step, written)

    # --- placements ---

    def _placement(
        self, step: steps.WritePlacement | steps.ProvePlacement | steps.DeletePlacement
    ) -> Outcome:
        kind = kinds.WORKLOAD_PLACEMENT
        if isinstance(step, steps.ProvePlacement):
            return self._prove(step)
        if isinstance(step, steps.DeletePlacement):
            written = self._client.delete(
                kind, PLACEMENT, step.namespace, uid=step.uid, resource_version=str(step.version)
            )
            return _done(step, written)
        spec: Json = {"target": step.target, "turns": step.turns, "ledger": step.ledger}
        if not step.uid:
            body = {"metadata": {"name": PLACEMENT, "labels": {MANAGED_BY: MANAGER}}, "spec": spec}
            written = self._client.create(kind, body, step.namespace)
        else:
            written = self._client.patch(
                kind,
                PLACEMENT,
                [{"op": "replace", "path": "/spec", "value": spec}],
                step.namespace,
                type=PatchType.JSON,
                uid=step.uid,
                resource_version=str(step.version),
            )
        if step.turns:
            self._prove_at_once(step.namespace, written.object)
        return _done(step, written)

    def _prove_at_once(self, namespace: str, placement: Json) -> None:
        """Mostly it is in force by now, which saves a look; whatever goes wrong here is found out later."""
        with contextlib.suppress(KubeError):
            asked = self._proven.now()
            seen = self._proof.asked_of_one(namespace, _uid(placement))
            if not seen.trouble:
                self._proven.note(_uid(placement), seen.generation, asked)

    def _prove(self, step: steps.ProvePlacement) -> Outcome:
        """Ask every API server, by an update that is not made, which generation it goes by."""
        seen = self._asked_of_all(step.namespace, step.uid)
        if seen.trouble:
            return Outcome.refused(step, seen.trouble, _SOON)
        if seen.generation >= step.generation:
            return Outcome.done(step)
        installed = bool(seen.generation) or policies.installed(self._client) is not False
        return Outcome.refused(step, _not_in_force(seen.generation, step, installed=installed), _SOON)

    def _asked_of_all(self, namespace: str, uid: str) -> InForce:
        asked = self._proven.now()
        seen = self._proof.asked_of_all(namespace, uid)
        self._proven.note(uid, seen.generation, asked)
        return seen

    def _still_in_force(self, step: steps.Evict | steps.Force | steps.Replace) -> bool:
        """Asked again before pods are moved: an API server may have been started since."""
        if not step.placement or self._proven.fresh(step.placement, step.generation):
            return True
        return self._asked_of_all(step.workload.namespace, step.placement).generation >= step.generation

    # --- budgets ---

    def _budget(self, step: _BudgetStep) -> Outcome:
        match step:
            case steps.ForgetEviction():
                return self._forget_eviction(step)
            case steps.MakeHold():
                return self._make_hold(step)
            case steps.HoldBudget():
                return self._change_budget(step, step.workload.namespace, hold=True)
            case steps.RestoreBudget():
                return self._change_budget(step, step.namespace, hold=False)
            case steps.DeleteHold():
                written = self._client.delete(
                    kinds.POD_DISRUPTION_BUDGET,
                    step.name,
                    step.namespace,
                    uid=step.uid,
                    resource_version=str(step.version),
                )
                return _done(step, written)

    def _make_hold(self, step: steps.MakeHold) -> Outcome:
        id_ = step.workload
        body = {
            "metadata": {
                "name": hold_name(WorkloadKind(id_.kind), id_.name),
                "labels": {MANAGED_BY: MANAGER},
            },
            "spec": {
                "maxUnavailable": 0,
                "selector": selector_json(step.selector),
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        }
        return _done(step, self._client.create(kinds.POD_DISRUPTION_BUDGET, body, id_.namespace))

    def _change_budget(
        self, step: steps.HoldBudget | steps.RestoreBudget, namespace: str, *, hold: bool
    ) -> Outcome:
        live = self._client.get(kinds.POD_DISRUPTION_BUDGET, step.name, namespace)
        if _uid(live) != step.uid:
            return Outcome.done(step, message="another budget has its name now")
        patched = (
            ledger.change_in_place(live, HOLD_LEDGER, [_nothing_allowed(live)])
            if hold
            else ledger.undo_in_place(live, HOLD_LEDGER)
        )
        kept = "; ".join(one.describe() for one in patched.kept)
        return self._json_patch(step, kinds.POD_DISRUPTION_BUDGET, live, patched.patch, kept)

    def _forget_eviction(self, step: steps.ForgetEviction) -> Outcome:
        live = self._client.get(kinds.POD_DISRUPTION_BUDGET, step.budget, step.namespace)
        if _uid(live) != step.uid:
            return Outcome.done(step, message="another budget has its name now")
        path = pointer("status", "disruptedPods", step.pod)
        noted = get(live, path)
        if noted is ABSENT:
            return Outcome.done(step, message="it is forgotten already")
        if not self._is_back(step, datetime.fromisoformat(noted)):
            return Outcome.refused(step, f"pod {step.pod} may be the one that was evicted", _LATER)
        patch: Patch = [{"op": "test", "path": path, "value": noted}, {"op": "remove", "path": path}]
        return self._json_patch(step, kinds.POD_DISRUPTION_BUDGET, live, patch, subresource="status")

    def _is_back(self, step: steps.ForgetEviction, evicted: datetime) -> bool:
        """Whether the pod was made after that, and stays; read after the budget, so nothing is missed."""
        about = self._client.get(kinds.POD, step.pod, step.namespace)["metadata"]
        if about["uid"] != step.pod_uid or about.get("deletionTimestamp"):
            return False
        return datetime.fromisoformat(about["creationTimestamp"]) > evicted

    # --- pods ---

    def _pod(self, step: steps.PodStep) -> Outcome:
        match step:
            case steps.Evict() | steps.Force() | steps.Replace():
                return self._end_pod(step)
            case steps.Rescue():
                return self._rescue(step)
            case steps.MarkPod():
                return self._mark_pod(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    def _end_pod(self, step: steps.Evict | steps.Force | steps.Replace) -> Outcome:
        namespace = step.workload.namespace
        if not self._still_in_force(step):
            return Outcome.refused(step, f"the placement of {namespace} is not in force any more", _SOON)
        if isinstance(step, steps.Evict):
            written = self._client.evict(step.name, namespace, uid=step.uid)
        else:
            written = self._client.delete(kinds.POD, step.name, namespace, uid=step.uid)
        if not isinstance(step, steps.Replace):
            makes_room = isinstance(step, steps.Evict) and step.makes_room
            self._evictions.note(step.workload, makes_room=makes_room)
        return _done(step, written)

    def _rescue(self, step: steps.Rescue) -> Outcome:
        live = self._client.get(kinds.POD, step.name, step.workload.namespace)
        if _uid(live) != step.uid:
            return Outcome.done(step, message="another pod has its name now")
        have: list[Json] = live["spec"].get("tolerations") or []
        wanted = [*have, toleration(step.target)]
        patch: Patch = [{"op": "add", "path": "/spec/tolerations", "value": wanted}]
        return self._json_patch(step, kinds.POD, live, patch)

    def _mark_pod(self, step: steps.MarkPod) -> Outcome:
        live = self._client.get(kinds.POD, step.name, step.workload.namespace)
        if _uid(live) != step.uid:
            return Outcome.done(step, message="another pod has its name now")
        patched = (
            ledger.change_in_place(live, SURGE_LEDGER, [Change(DELETION_COST, FIRST_TO_GO)])
            if step.first_to_go
            else ledger.undo_in_place(live, SURGE_LEDGER)
        )
        return self._json_patch(step, kinds.POD, live, patched.patch)

    # --- workloads ---

    def _set_tolerations(self, step: steps.SetTolerations) -> Outcome:
        kind = WORKLOADS[step.workload.kind]
        live = self._client.get(kind, step.workload.name, step.workload.namespace)
        if _uid(live) != step.uid:
            return Outcome.done(step, message="another workload has its name now")
        old = get(live, TEMPLATE_TOLERATIONS)
        have: list[Json] = [] if old is ABSENT else old
        others = [one for one in have if not _is_ours(one)]
        wanted = [*others, toleration(step.target)] if step.target else others
        if wanted:
            patch: Patch = [{"op": "add", "path": TEMPLATE_TOLERATIONS, "value": wanted}]
        else:
            patch = [] if old is ABSENT else [{"op": "remove", "path": TEMPLATE_TOLERATIONS}]
        return self._json_patch(step, kind, live, patch)

    def _scale(self, step: steps.Scale) -> Outcome:
        id_ = step.workload
        kind = kinds.HORIZONTAL_POD_AUTOSCALER if step.autoscaler else WORKLOADS[id_.kind]
        field = "minReplicas" if step.autoscaler else "replicas"
        written = self._client.patch(
            kind,
            step.autoscaler or id_.name,
            {"spec": {field: step.replicas}},
            id_.namespace,
            uid=step.uid,
            resource_version=str(step.version),
        )
        return _done(step, written)

    def _json_patch(
        self,
        step: Step,
        kind: Kind,
        live: Json,
        patch: Patch,
        message: str = "",
        *,
        subresource: str = "",
    ) -> Outcome:
        if not patch:
            return Outcome.done(step, message=message)
        written = self._client.patch(
            kind,
            live["metadata"]["name"],
            patch,
            live["metadata"]["namespace"],
            type=PatchType.JSON,
            uid=_uid(live),
            resource_version=_version(live),
            subresource=subresource,
        )
        return Outcome.done(step, *([written.barrier] if written.barrier else []), message=message)


def _not_in_force(generation: int, step: steps.ProvePlacement, *, installed: bool) -> str:
    if generation:
        return f"the API server goes by generation {generation} of the placement, not {step.generation}"
    if installed:
        return (
            f"the API server does not go by policy {PODS_POLICY} yet: it was started a moment ago, or the"
            " policy is of another release (then: `shiplift manifests | kubectl apply -f -`)"
        )
    return (
        f"policy {PODS_POLICY} or its binding is gone, so nothing steers new pods;"
        " `shiplift manifests | kubectl apply -f -` puts it back"
    )


def _refusal(step: Step, error: KubeError) -> Outcome:
    """Most are everyday: the object has moved on, or not now."""
    match error:
        case NotFound() | PreconditionFailed():
            return Outcome.refused(step, f"the object is gone: {error.message}", _SOON)
        case Conflict() | AlreadyExists():
            return Outcome.refused(step, f"somebody else was faster: {error.message}", _SOON)
        case BudgetExhausted():
            return Outcome.refused(step, error.message)
        case BudgetPending() | Unreachable() | ServerError():
            return Outcome.refused(step, error.message, _LATER)
        case Throttled():
            return Outcome.refused(step, error.message, timedelta(seconds=error.retry_after or 1))
        case _:
            return Outcome.failed(step, str(error))


def _done(step: Step, written: Written) -> Outcome:
    return Outcome.done(step, *([written.barrier] if written.barrier else []))


def _uid(live: Json) -> str:
    return live["metadata"]["uid"]


def _version(live: Json) -> str:
    return live["metadata"]["resourceVersion"]


def _shapes(taints: list[Json]) -> list[tuple[str, str, str]]:
    return [(one["key"], one.get("value", ""), one["effect"]) for one in taints]


def _nothing_allowed(live: Json) -> Change:
    """In the field that the budget uses already: with both set, its owner could not apply it again."""
    if get(live, pointer("spec", "minAvailable")) is not ABSENT:
        return Change("/spec/minAvailable", "100%")
    return Change("/spec/maxUnavailable", 0)


def toleration(target: str) -> Json:
    """What lets a pod onto the target nodes in mode Template."""
    return {
        "key": UPGRADE_TAINT,
        "operator": "Equal",
        "value": label_value(target),
        "effect": "NoSchedule",
    }


def _is_ours(one: Json) -> bool:
    """A toleration as we write it; a user's own for the same taint stays."""
    return (one.get("key"), one.get("operator", "Equal"), one.get("effect")) == (
        UPGRADE_TAINT,
        "Equal",
        "NoSchedule",
    )


def selector_json(selector: Selector) -> Json:
    """A label selector as the API writes it."""
    body: Json = {}
    if selector.labels:
        body["matchLabels"] = dict(selector.labels)
    if selector.expressions:
        body["matchExpressions"] = [
            {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
            for one in selector.expressions
        ]
    return body
