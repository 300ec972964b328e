"""Takes steps: one write each, its preconditions make it harmless when late. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiplift.engine import clock, contested
from shiplift.engine.step import Outcome, Step
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.nodes import steps
from shiplift.nodes.act import leases, pods, rollouts
from shiplift.nodes.act.control_plane import ControlPlane
from shiplift.nodes.act.hooks import Hooks
from shiplift.nodes.act.nodes import Nodes
from shiplift.nodes.memory import Jobs, Leases


class Actor:
    """Takes the steps of this layer through one client.

    `desired` says which software a node, by name, has a desired version of; `claims_changed` hears that the
    claims on the control plane are others now.
    """

    def __init__(  # noqa: PLR0913 - what it acts through, and what it notes
        self,
        client: Client,
        book: ClaimBook,
        epoch: int,
        desired: Callable[[str], Iterable[str]],
        changes: contested.Memory,
        leases: Leases,
        jobs: Jobs,
        claims_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._changes, self._leases = client, changes, leases
        self._nodes = Nodes(client, desired)
        self._hooks = Hooks(client, jobs)
        self._control_plane = ControlPlane(book, epoch, claims_changed)

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            outcome = self._take(step)
        except KubeError as error:
            return refusal(step, error)
        if outcome.ok:
            self._changes.note(step, clock.now())
        return outcome

    def _take(self, step: Step) -> Outcome:
        match step:
            case steps.NodeStep():
                return self._nodes.take(step)
            case steps.Evict():
                return pods.end(self._client, step)
            case steps.CheckLease():
                return leases.check(self._client, self._leases, step)
            case steps.MakeHook() | steps.DeleteHook():
                return self._hooks.take(step)
            case steps.SetFinalizer():
                return rollouts.set_finalizer(self._client, step)
            case steps.Claim():
                return self._control_plane.take(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")
