"""Takes steps: one write each, its preconditions make it harmless when late. Nothing is decided here."""

from __future__ import annotations

from shiplift.api.marks import REFRESH_ASKED
from shiplift.engine.ledger import LedgerError
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.finalizers import finalizer_edit
from shiplift.kube.outcomes import refusal
from shiplift.upgrade import steps
from shiplift.upgrade.act import cluster_versions, migrations, rollouts, turns
from shiplift.upgrade.act.marking import marked, ours
from shiplift.upgrade.names import FINALIZER, UPGRADE


class Actor:
    """Takes the steps of the conductor through one client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            return self._take(step)
        except KubeError as error:
            return refusal(step, error)
        except LedgerError as error:
            return Outcome.failed(step, f"{error}; {error.hint}")

    def _take(self, step: Step) -> Outcome:
        match step:
            case steps.SetChannel() | steps.SetUpdate():
                return cluster_versions.take(self._client, step)
            case (
                steps.MakeRollout()
                | steps.DeleteRollout()
                | steps.HoldRollout()
                | steps.SetRollout()
                | steps.AimRollout()
            ):
                return rollouts.take(self._client, step)
            case (
                steps.MakeMigration()
                | steps.SetTarget()
                | steps.PutBackTarget()
                | steps.HoldMigration()
                | steps.DeleteMigration()
            ):
                return migrations.take(self._client, step)
            case steps.HoldLater():
                return _hold(self._client, step)
            case steps.MarkOurs():
                return _mark(self._client, step)
            case _:
                return self._take_own(step)

    def _take_own(self, step: Step) -> Outcome:
        """On the UpgradeConfig itself."""
        match step:
            case steps.SetFinalizer():
                return _set_finalizer(self._client, step)
            case steps.AskProvider():
                return _ask_provider(self._client, step)
            case steps.TellTurn():
                return turns.tell(self._client, step)
            case steps.ForgetTurn():
                return turns.forget(self._client, step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")


def _set_finalizer(client: Client, step: steps.SetFinalizer) -> Outcome:
    """Our finalizer put on or taken off; those of others stay."""
    subject = Subject(UPGRADE_CONFIG, UPGRADE, "", step.uid, "upgrade")
    return change(client, step, subject, lambda live: finalizer_edit(live, FINALIZER, present=step.present))


def _hold(client: Client, step: steps.HoldLater) -> Outcome:
    subject = Subject(step.kind, step.name, step.namespace, step.uid, step.kind.kind)
    return change(client, step, subject, lambda live: marked(live, step.why))


def _mark(client: Client, step: steps.MarkOurs) -> Outcome:
    subject = Subject(step.kind, step.name, "", step.uid, step.kind.kind)
    return change(client, step, subject, lambda live: ours(live, step.upgrade))


def _ask_provider(client: Client, step: steps.AskProvider) -> Outcome:
    subject = Subject(UPGRADE_CONFIG, UPGRADE, "", step.uid, "upgrade")
    wish = Edit({"metadata": {"annotations": {REFRESH_ASKED: step.wish}}})
    return change(client, step, subject, lambda _: wish)
