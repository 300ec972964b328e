"""Steps on Nodes, each one patch of the version that was seen: whoever changed the node meanwhile, its agent
among them, stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiplift.agent.protocol import CHANGES_ALLOWED, desired_key
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY, QUARANTINED_BY
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import NODE
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json, done
from shiplift.nodes.steps import Allow, Cordon, NodeStep, Release, Withdraw

Annotations = dict[str, str | None]
"""What is written; None takes one off."""
_UNMARKED: Annotations = {CORDONED_BY: None, CORDONED_BEFORE: None}


class Nodes:
    """Changes Nodes. `desired` says which software a node, by name, has a desired version of: in the version
    of the node that a step means these are all that there are."""

    def __init__(self, client: Client, desired: Callable[[str], Iterable[str]]) -> None:
        self._client, self._desired = client, desired

    def take(self, step: NodeStep) -> Outcome:
        patch = self._patch(step)
        version = str(step.version)
        return done(step, self._client.patch(NODE, step.name, patch, uid=step.uid, resource_version=version))

    def _patch(self, step: NodeStep) -> Json:
        match step:
            case Cordon():
                return _patch({CORDONED_BY: step.rollout, CORDONED_BEFORE: _told(step)}, unschedulable=True)
            case Allow():
                return _patch({**self._without_desired(step), **_order(step)})
            case Withdraw():
                return _patch({**self._without_desired(step), CHANGES_ALLOWED: None})
            case Release():
                return self._released(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    def _released(self, step: Release) -> Json:
        if step.left_by:
            # an order may still be there, where nobody understands what its agent says
            return _patch({**_UNMARKED, QUARANTINED_BY: step.left_by})
        annotations: Annotations = {**self._without_desired(step), CHANGES_ALLOWED: None}
        annotations |= {} if step.mark else _UNMARKED
        annotations |= {QUARANTINED_BY: None} if step.uncordon else {}
        return _patch(annotations, unschedulable=False if step.uncordon else None)

    def _without_desired(self, step: NodeStep) -> Annotations:
        return {desired_key(software): None for software in self._desired(step.name)}


def _told(step: Cordon) -> str | None:
    return None if step.before is None else str(step.before).lower()


def _order(step: Allow) -> Annotations:
    wanted: Annotations = {desired_key(software): version for software, version in step.desired.items()}
    return {**wanted, CHANGES_ALLOWED: step.order.written()}


def _patch(annotations: Annotations, *, unschedulable: bool | None = None) -> Json:
    patch: Json = {"metadata": {"annotations": annotations}}
    return patch if unschedulable is None else {**patch, "spec": {"unschedulable": unschedulable}}
