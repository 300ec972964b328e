"""`release --all`: undo everything of ours in a cluster, without the operator.

It decides and acts as the operator does when a migration is aborted; first it says so in the
WorkloadMigration, so that an operator that comes back does not begin again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from shiplift.engine import contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.store import Store
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.observe.observer import Observer

_MOST_SECONDS = 600.0
_SETTLE_SECONDS = 30.0
_PAUSE_SECONDS = 1.0


class ReleaseError(Exception):
    """Something of ours could not be taken out; says what, and what would help."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def release_all(client: Client, store: Store, say: Callable[[str], None]) -> int:
    """Undo until nothing is left; how many changes that took. The store watches what the layer reads."""
    store.wait_settled(_abort(client, say), _SETTLE_SECONDS)
    observer = Observer(store, lambda: False)
    store.subscribe(observer.heard)
    actor = Actor(client, observer.in_force, contested.Memory())
    changes = 0
    give_up = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < give_up:
        decision = decide(observer.observe(Outcomes()), datetime.now(UTC))
        steps = decision.steps
        if not steps and decision.reason is not Reason.CLEANING_UP:
            for note in decision.notes:
                say(note)
            return changes
        outcomes = [_act(actor, step, say) for step in steps]
        changes += sum(one.ok for one in outcomes)
        store.wait_settled([barrier for one in outcomes for barrier in one.barriers], _SETTLE_SECONDS)
        _refuse_failures(steps, outcomes)
        if not any(one.ok for one in outcomes):
            time.sleep(_PAUSE_SECONDS)
    raise ReleaseError(
        "there is still something of ours left", "is an operator running that does not see the abort?"
    )


def _act(actor: Actor, step: Step, say: Callable[[str], None]) -> Outcome:
    outcome = actor.act(step)
    say(f"{step.describe()}: {outcome.answer.value}" + (f" ({outcome.message})" if outcome.message else ""))
    return outcome


def _refuse_failures(steps: Sequence[Step], outcomes: Sequence[Outcome]) -> None:
    """What is refused for now is tried again; when nothing at all worked, somebody has to know."""
    if not outcomes or any(one.ok for one in outcomes):
        return
    for step, outcome in zip(steps, outcomes, strict=True):
        if outcome.retry_after is None or outcome.answer.value == "failed":
            raise ReleaseError(f"{step.describe()}: {outcome.message}", "may this user change it?")


def _abort(client: Client, say: Callable[[str], None]) -> list[Barrier]:
    try:
        live = client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)
    except NotFound:
        return []
    if live["spec"].get("abort"):
        return []
    try:
        written = client.patch(
            kinds.WORKLOAD_MIGRATION, MIGRATION, {"spec": {"abort": True}}, uid=live["metadata"]["uid"]
        )
    except KubeError as error:
        raise ReleaseError(
            f"the migration cannot be aborted: {error}", "an operator would begin again"
        ) from error
    say("the migration is aborted, so that no operator begins again")
    return [written.barrier] if written.barrier else []
