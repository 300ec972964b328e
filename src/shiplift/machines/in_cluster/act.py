"""Takes steps: one write each. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from shiplift.api.marks import MANAGED_BY, MANAGER, POOL_LABEL
from shiplift.engine import clock, contested
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import Json, done, refusal, uid_of
from shiplift.kube.simulated import Simulated, address
from shiplift.machines.in_cluster.steps import MakeMachine, MakeNode

Now = Callable[[], datetime]


class Actor:
    """Takes the steps of this layer through one client."""

    def __init__(self, client: Client, memory: contested.Memory, now: Now = clock.now) -> None:
        self._client = client
        self._memory = memory
        self._now = now

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            outcome = self._take(step)
        except KubeError as error:
            return refusal(step, error)
        if outcome.ok:
            self._memory.note(step, self._now())
        return outcome

    def _take(self, step: Step) -> Outcome:
        match step:
            case MakeMachine():
                return done(step, self._client.create(MACHINE, machine_manifest(step)))
            case MakeNode():
                return self._make_node(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    def _make_node(self, step: MakeNode) -> Outcome:
        """The machine is looked at once more: no node is made for one that is gone or on its way out."""
        live = self._client.get(MACHINE, step.machine)
        if uid_of(live) != step.machine_uid or live["metadata"].get("deletionTimestamp"):
            return Outcome.done(step, message=f"machine {step.machine} is not there any more")
        return done(step, self._client.create(NODE, node_manifest(step)))


def machine_manifest(step: MakeMachine) -> Json:
    """Owned by its pool; whoever deletes the pool need not wait for us."""
    owner = {
        "apiVersion": MACHINE_POOL.api_version,
        "kind": MACHINE_POOL.kind,
        "name": step.pool,
        "uid": step.pool_uid,
        "controller": True,
    }
    return {
        "metadata": {
            "name": step.name,
            "labels": {MANAGED_BY: MANAGER, POOL_LABEL: step.pool},
            "ownerReferences": [owner],
        },
        "spec": {"pool": step.pool, "role": step.role.value, "provider": step.provider.value},
    }


def node_manifest(step: MakeNode) -> Json:
    return Simulated(
        name=step.machine,
        version=step.version,
        address=address(step.pool, step.number),
        labels=step.labels,
        taints=step.taints,
        cpu=step.cpu,
        memory=step.memory,
        pods=step.pods,
    ).manifest()
