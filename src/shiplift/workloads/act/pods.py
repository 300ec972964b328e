"""Steps on pods: moved, made again, let onto target nodes, put first to go."""

from __future__ import annotations

from shiplift.engine import ledger
from shiplift.engine.ledger import Change
from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client, Written
from shiplift.kube.ending import ended
from shiplift.kube.outcomes import SOON, Json
from shiplift.workloads.act.placements import Placements
from shiplift.workloads.act.tolerations import toleration
from shiplift.workloads.names import SURGE_LEDGER
from shiplift.workloads.steps import Evict, Force, LetOn, MarkPod, PodStep, Replace, Rescue

DELETION_COST = "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost"
FIRST_TO_GO = "-2147483648"


class Pods:
    """Ends and changes pods."""

    def __init__(self, client: Client, placements: Placements) -> None:
        self._client, self._placements = client, placements

    def take(self, step: PodStep | LetOn) -> Outcome:
        match step:
            case LetOn():
                subject = Subject(kinds.POD, step.name, step.namespace, step.uid, "pod")
                return change(self._client, step, subject, lambda live: _tolerating(step.target, live))
            case Evict() | Force() | Replace():
                return self._end(step)
            case Rescue():
                return change(self._client, step, _subject(step), lambda live: _tolerating(step.target, live))
            case MarkPod():
                return change(self._client, step, _subject(step), lambda live: _marked(step, live))
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    def _end(self, step: Evict | Force | Replace) -> Outcome:
        namespace = step.workload.namespace
        if not self._placements.still_in_force(step):
            return Outcome.refused(step, f"the placement of {namespace} is not in force any more", SOON)
        return ended(step, step.uid, lambda: self._send(step))

    def _send(self, step: Evict | Force | Replace) -> Written:
        namespace = step.workload.namespace
        if isinstance(step, Evict):
            return self._client.evict(step.name, namespace, uid=step.uid)
        version = str(step.version)
        return self._client.delete(kinds.POD, step.name, namespace, uid=step.uid, resource_version=version)


def _subject(step: PodStep) -> Subject:
    return Subject(kinds.POD, step.name, step.workload.namespace, step.uid, "pod")


def _tolerating(target: str, live: Json) -> Edit:
    have: list[Json] = live["spec"].get("tolerations") or []
    wanted = [*have, toleration(target)]
    return Edit([{"op": "add", "path": "/spec/tolerations", "value": wanted}])


def _marked(step: MarkPod, live: Json) -> Edit:
    patched = (
        ledger.change_in_place(live, SURGE_LEDGER, [Change(DELETION_COST, FIRST_TO_GO)])
        if step.first_to_go
        else ledger.undo_in_place(live, SURGE_LEDGER)
    )
    return Edit(patched.patch)
