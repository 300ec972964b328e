"""Takes steps: one write each, its preconditions make it harmless when late. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiplift.drain.handing import hand_over
from shiplift.drain.steps import ForgetEviction, HandOver
from shiplift.engine import clock
from shiplift.engine.step import Outcome, Step
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.kube.succession import NOBODY, Succession
from shiplift.nodes import steps
from shiplift.nodes.act import leases, pods, rollouts
from shiplift.nodes.act.control_plane import ControlPlane
from shiplift.nodes.act.hooks import Hooks
from shiplift.nodes.act.nodes import Nodes
from shiplift.nodes.memory import Memory


class Actor:
    """Takes the steps of this layer through one client.

    `desired` says which software a node, by name, has a desired version of.
    """

    def __init__(
        self,
        client: Client,
        control_plane: ControlPlane,
        desired: Callable[[str], Iterable[str]],
        memory: Memory,
        succession: Succession = NOBODY,
    ) -> None:
        self._succession = succession
        self._client, self._memory, self._control_plane = client, memory, control_plane
        self._nodes = Nodes(client, desired)
        self._hooks = Hooks(client, memory.jobs)

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        if isinstance(step, HandOver):
            return hand_over(self._succession, step)
        try:
            outcome = self._take(step)
        except KubeError as error:
            return refusal(step, error)
        if outcome.ok:
            self._memory.changes.note(step, clock.now())
        return outcome

    def _take(self, step: Step) -> Outcome:
        match step:
            case steps.NodeStep():
                return self._nodes.take(step)
            case steps.Evict() | ForgetEviction():
                return pods.take(self._client, step)
            case steps.CheckLease():
                return leases.check(self._client, self._memory.leases, step)
            case steps.MakeHook() | steps.DeleteHook():
                return self._hooks.take(step)
            case steps.SetFinalizer():
                return rollouts.set_finalizer(self._client, step)
            case steps.Claim():
                return self._control_plane.take(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")
