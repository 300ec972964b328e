"""Takes steps: one write each, its preconditions make it harmless when late. Nothing is decided here."""

from __future__ import annotations

from shiplift.drain.handing import hand_over
from shiplift.drain.steps import ForgetEviction, HandOver
from shiplift.engine import clock, contested
from shiplift.engine.ledger import LedgerError
from shiplift.engine.step import Outcome, Step
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.outcomes import refusal
from shiplift.kube.succession import NOBODY, Succession
from shiplift.workloads import steps
from shiplift.workloads.act import budgets, migrations, nodes, workloads
from shiplift.workloads.act.placements import Placements
from shiplift.workloads.act.pods import Pods
from shiplift.workloads.memory import Evictions, InForce


class Actor:
    """Takes the steps of this layer through one client.

    `in_force` notes which placements are, `changes` what was changed that is not ours, `evictions` what
    is counted for the brake.
    """

    def __init__(
        self,
        client: Client,
        in_force: InForce,
        changes: contested.Memory,
        evictions: Evictions | None = None,
        succession: Succession = NOBODY,
    ) -> None:
        self._succession = succession
        self._client = client
        self._changes = changes
        self._placements = Placements(client, in_force)
        self._pods = Pods(client, self._placements)
        self._evictions = evictions or Evictions()

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        if isinstance(step, HandOver):
            return hand_over(self._succession, step)
        try:
            outcome = self._take(step)
        except KubeError as error:
            return refusal(step, error)
        except LedgerError as error:
            return Outcome.failed(step, f"{error} (hint: {error.hint})")
        if outcome.ok:
            self._changes.note(step, clock.now())
            self._evictions.note(step)
        return outcome

    def _take(self, step: Step) -> Outcome:
        match step:
            case steps.MarkNode():
                return nodes.mark(self._client, step)
            case steps.WritePlacement() | steps.CheckInForce() | steps.DeletePlacement():
                return self._placements.take(step)
            case (
                steps.HoldBudget()
                | steps.MakeHold()
                | steps.RestoreBudget()
                | steps.DeleteHold()
                | ForgetEviction()
            ):
                return budgets.take(self._client, step)
            case steps.PodStep() | steps.LetOn():
                return self._pods.take(step)
            case steps.SetFinalizer():
                return migrations.set_finalizer(self._client, step)
            case steps.SetTolerations() | steps.Scale():
                return workloads.take(self._client, step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")
