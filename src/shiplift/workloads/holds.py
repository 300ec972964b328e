"""Holding: PodDisruptionBudgets that keep others from evicting workloads whose turn has not come.

We are the drainer, so for us holding means not evicting. Against others: never a second budget on a pod (the
server would refuse every eviction of it for ever), never a change to a budget that also covers a workload
that may move, and what a user's budget said is put back three-way.
"""

from __future__ import annotations

import msgspec

from shiplift.api.workloads import Hold, Mode, WorkloadKind
from shiplift.engine.step import Step
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Tally, View
from shiplift.workloads.names import HOLD_LEDGER, hold_name, is_made_hold
from shiplift.workloads.steps import DeleteHold, HoldBudget, MakeHold, RestoreBudget, evicted_by_us


class Holding(msgspec.Struct, frozen=True):
    """What to do about holds, and which workloads cannot be held."""

    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everybody who has to be held is, as far as that is possible."""
        return not any(isinstance(step, HoldBudget | MakeHold) for step in self.steps)


def is_ours(budget: PodDisruptionBudget) -> bool:
    """Made by us, not merely held."""
    return is_made_hold(budget.labels, budget.name)


def is_hold(budget: PodDisruptionBudget) -> bool:
    """Made or changed by us."""
    return is_ours(budget) or HOLD_LEDGER in budget.annotations


def wanted(view: View, going: frozenset[WorkloadId]) -> bool:
    """Whether held workloads need budgets: always, or since somebody else began to drain; once begun, on."""
    if view.aim.mode is Mode.TEMPLATE or view.spec.hold is Hold.ALWAYS or view.fleet.cordoned or view.holds:
        return True
    if emptying(view):
        return False
    held = [tally for id_, tally in view.tallies.items() if tally.evicted and id_ not in going]
    # what we asked for ourselves may still be on its way when a workload is held again, as after a rollback
    return any(not evicted_by_us(uid, view.outcomes) for tally in held for uid in tally.evicted)


def holding(view: View, going: frozenset[WorkloadId]) -> Holding:
    """Hold those whose turn has not come, let go of the others."""
    if not wanted(view, going):
        return Holding()
    held = [
        id_
        for id_, tally in view.tallies.items()
        if id_ not in going and not tally.skipped and not _makes_room(view, tally)
    ]
    keep = set(held)
    steps: list[Step] = [step for one in view.holds if (step := _let_go(view, one, keep)) is not None]
    notes: list[str] = []
    for id_ in held:
        found = _hold(view, view.tallies[id_])
        if isinstance(found, str):
            notes.append(found)
        elif found is not None:
            steps.append(found)
    return Holding(tuple(steps), tuple(notes))


def emptying(view: View) -> str:
    """The old node that we empty to make room."""
    return view.status.emptying


def _makes_room(view: View, tally: Tally) -> bool:
    """Its pods have to leave the node that is being emptied, so it cannot be held now."""
    node = emptying(view)
    return bool(node) and any(pod.node == node for pod in (*tally.away, *tally.going))


def _let_go(view: View, budget: PodDisruptionBudget, held: set[WorkloadId]) -> Step | None:
    """What ends a hold that is no longer right; None while it is."""
    covered = tuple(view.covers.get(budget.uid, ()))
    if is_ours(budget):
        owner = [id_ for id_ in covered if hold_name(WorkloadKind(id_.kind), id_.name) == budget.name]
        right = len(covered) == 1 and len(owner) == 1 and owner[0] in held and _alone(view, owner[0])
        return None if right else undo(budget)
    right = len(covered) == 1 and covered[0] in held
    return None if right else undo(budget)


def _alone(view: View, id_: WorkloadId) -> bool:
    return len(view.tallies[id_].budgets) == 1


def undo(budget: PodDisruptionBudget) -> Step:
    """What ends a hold."""
    if is_ours(budget):
        return DeleteHold(budget.namespace, budget.name, budget.uid, budget.resource_version)
    return RestoreBudget(budget.namespace, budget.name, budget.uid)


def _hold(view: View, tally: Tally) -> Step | str | None:
    """How to hold a workload; a line where it cannot be, None where it is or has no pods."""
    if not tally.pods:
        return None
    budgets = [view.budgets[uid] for uid in tally.budgets if uid in view.budgets]
    if not budgets:
        return _make(view, tally)
    holds_it = next((budget for budget in budgets if is_hold(budget)), None)
    if holds_it is not None:
        return _loosened(tally, holds_it)
    if len(budgets) > 1:
        names = " and ".join(f"{one.namespace}/{one.name}" for one in budgets)
        return f"{tally.id} cannot be held: PodDisruptionBudgets {names} both select its pods"
    return None if _allows_nothing(budgets[0]) else _hold_by(view, tally, budgets[0])


def _hold_by(view: View, tally: Tally, budget: PodDisruptionBudget) -> Step | str:
    if others := _others(view, budget, tally):
        name = f"{budget.namespace}/{budget.name}"
        return f"{tally.id} cannot be held: PodDisruptionBudget {name} also covers {others}"
    return HoldBudget(tally.id, budget.name, budget.uid)


def _allows_nothing(budget: PodDisruptionBudget) -> bool:
    return budget.max_unavailable in (0, "0%") or budget.min_available == "100%"


def _loosened(tally: Tally, budget: PodDisruptionBudget) -> str | None:
    """A line where somebody changed a budget while we hold it: theirs stays, and it holds no more."""
    if _allows_nothing(budget):
        return None
    says = (
        f"minAvailable {budget.min_available}"
        if budget.max_unavailable is None
        else f"maxUnavailable {budget.max_unavailable}"
    )
    return (
        f"PodDisruptionBudget {budget.namespace}/{budget.name} is held by us and was changed by somebody else"
        f" ({says}): it no longer holds {tally.id}"
    )


def _others(view: View, budget: PodDisruptionBudget, tally: Tally) -> str:
    """Who else a budget covers; empty where it covers that workload alone."""
    others = [id_ for id_ in view.covers.get(budget.uid, ()) if id_ != tally.id]
    if others:
        return str(others[0])
    return "other pods" if budget.expected_pods > max(tally.row.replicas, len(tally.pods)) else ""


def _make(view: View, tally: Tally) -> Step | str | None:
    selector = tally.row.selector
    if selector is None:
        return None
    for other in view.tallies.values():
        if (
            other.id.namespace == tally.id.namespace
            and other.id != tally.id
            and selector.matches(other.row.template_labels)
        ):
            return f"{tally.id} cannot be held: its selector also picks pods of {other.id}"
    return MakeHold(tally.id, selector)
