"""Steps on WorkloadPlacements: written, taken away, and seen to be in force.

What was seen to be in force is noted, and asked again before pods are moved: an API server may have been
started since.
"""

from __future__ import annotations

import contextlib

from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.placements import PLACEMENT
from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube import policies
from shiplift.kube.client import Client, PatchType, Written
from shiplift.kube.errors import AlreadyExists, KubeError
from shiplift.kube.in_force import Asking, GoneBy
from shiplift.kube.outcomes import LATER, SOON, Json, done, uid_of
from shiplift.workloads.admission import ASK, effective_generation
from shiplift.workloads.memory import InForce
from shiplift.workloads.names import PODS_POLICY
from shiplift.workloads.steps import CheckInForce, DeletePlacement, Evict, Force, Replace, WritePlacement

_KIND = kinds.WORKLOAD_PLACEMENT
Question = tuple[str, str]
"""A placement by its namespace and uid."""


def ask(server: Client, question: Question) -> int:
    """Which generation of the placement the API server goes by, by an update that is not made."""
    namespace, uid = question
    asked = server.patch(_KIND, PLACEMENT, ASK, namespace, uid=uid, dry_run=True)
    return effective_generation(asked.object)


class Placements:
    """Writes placements, and knows which of them are in force."""

    def __init__(self, client: Client, seen: InForce) -> None:
        self._client, self._seen = client, seen
        self._asking = Asking(client, ask)

    def take(self, step: WritePlacement | CheckInForce | DeletePlacement) -> Outcome:
        match step:
            case CheckInForce():
                return self._check(step)
            case DeletePlacement():
                return self._delete(step)
            case WritePlacement():
                return self._write(step)

    def still_in_force(self, step: Evict | Force | Replace) -> bool:
        """Whether the API servers go by the placement that a step relies on; asked where that is not
        fresh."""
        if not step.placement or self._seen.fresh(step.placement, step.generation):
            return True
        return self._asked_of_all(step.workload.namespace, step.placement).generation >= step.generation

    def _delete(self, step: DeletePlacement) -> Outcome:
        written = self._client.delete(
            _KIND, PLACEMENT, step.namespace, uid=step.uid, resource_version=str(step.version)
        )
        return done(step, written)

    def _write(self, step: WritePlacement) -> Outcome:
        try:
            written = self._replaced(step) if step.uid else self._created(step)
            if _is_gone(written.object) and (step.turns or step.ledger):
                written = self._created(step)
        except AlreadyExists:
            if kept := self._kept_by(step.namespace):
                return Outcome.refused(step, kept, LATER)
            raise
        if step.turns:
            self._check_at_once(step.namespace, written.object)
        return done(step, written)

    def _created(self, step: WritePlacement) -> Written:
        about: Json = {"name": PLACEMENT, "labels": {MANAGED_BY: MANAGER}}
        about |= {"finalizers": list(step.finalizers)} if step.finalizers else {}
        return self._client.create(_KIND, {"metadata": about, "spec": _spec(step)}, step.namespace)

    def _kept_by(self, namespace: str) -> str:
        """What keeps a placement that is being deleted; empty for one that is not."""
        about = self._client.get(_KIND, PLACEMENT, namespace)["metadata"]
        if not about.get("deletionTimestamp"):
            return ""
        keepers = ", ".join(about.get("finalizers", ()))
        return f"it is being deleted and kept by finalizers of others ({keepers}); let it go"

    def _replaced(self, step: WritePlacement) -> Written:
        patch: list[Json] = [{"op": "replace", "path": "/spec", "value": _spec(step)}]
        if step.finalizers is not None:
            patch.append({"op": "add", "path": "/metadata/finalizers", "value": list(step.finalizers)})
        return self._client.patch(
            _KIND,
            PLACEMENT,
            patch,
            step.namespace,
            type=PatchType.JSON,
            uid=step.uid,
            resource_version=str(step.version),
        )

    def _check_at_once(self, namespace: str, placement: Json) -> None:
        """Mostly it is in force by now, which saves a look; whatever goes wrong here is found out later."""
        with contextlib.suppress(KubeError):
            asked = self._seen.now()
            seen = self._asking.asked_of_one((namespace, uid_of(placement)))
            if not seen.trouble:
                self._seen.note(uid_of(placement), seen.generation, asked)

    def _check(self, step: CheckInForce) -> Outcome:
        """Ask every API server which generation it goes by."""
        seen = self._asked_of_all(step.namespace, step.uid)
        if seen.trouble:
            return Outcome.refused(step, seen.trouble, SOON)
        if seen.generation >= step.generation:
            return Outcome.done(step)
        installed = bool(seen.generation) or policies.installed(self._client, PODS_POLICY) is not False
        return Outcome.refused(step, _not_in_force(seen.generation, step, installed=installed), SOON)

    def _asked_of_all(self, namespace: str, uid: str) -> GoneBy:
        asked = self._seen.now()
        seen = self._asking.asked_of_all((namespace, uid))
        self._seen.note(uid, seen.generation, asked)
        return seen


def _is_gone(placement: Json) -> bool:
    """Whether somebody had deleted it, and it went with its last finalizer: it is made again at once, so that
    pods are steered and nothing is forgotten."""
    about = placement["metadata"]
    return bool(about.get("deletionTimestamp")) and not about.get("finalizers")


def _spec(step: WritePlacement) -> Json:
    return {"target": step.target, "turns": step.turns, "ledger": step.ledger}


def _not_in_force(generation: int, step: CheckInForce, *, installed: bool) -> str:
    if generation:
        return f"the API server goes by generation {generation} of the placement, not {step.generation}"
    if installed:
        return (
            f"the API server does not go by policy {PODS_POLICY} yet: it was started a moment ago, or the"
            " policy is of another release (then apply again what installed shiplift: docs/install.md)"
        )
    return (
        f"policy {PODS_POLICY} or its binding is gone, so nothing steers new pods;"
        " what installed shiplift puts it back when it is applied again (docs/install.md)"
    )
