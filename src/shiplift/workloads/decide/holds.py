"""Holding: PodDisruptionBudgets that keep others from evicting workloads whose turn has not come.

We are the drainer, so for us holding means not evicting. Against others: never a second budget on a pod (the
server would refuse every eviction of it for ever), never a change to a budget that also covers a workload
that may move, and what a user's budget said is put back three-way.

A budget covers a pod by the labels of that pod. Ours is for all pods of a workload, so it is made only where
none of them has one, and goes as soon as one gets another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from shiplift.api.workloads import Hold, Mode, WorkloadKind
from shiplift.engine import retries
from shiplift.engine.step import Answer, Step
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.coverage import budgets_of, covered, covering
from shiplift.pdb.holds import is_hold, is_made_by_us
from shiplift.workloads.decide.picking import Picking
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Tally, View
from shiplift.workloads.names import hold_name
from shiplift.workloads.steps import DeleteHold, HoldBudget, MakeHold, RestoreBudget, evicted_by_us

_MOST_NAMED = 3
_DENIED_AFTER = 3
"""So often a hold may fail, over some seconds, before the move goes on without it."""


class Holding(msgspec.Struct, frozen=True):
    """What to do about holds, and which workloads cannot be held."""

    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    put_off: int = 0
    """Workloads that would be held if the migration were not paused."""
    denied: frozenset[str] = frozenset()
    """Steps, by key, that somebody forbids again and again: nothing waits for them."""

    @property
    def complete(self) -> bool:
        """Whether every workload that has to be held is, as far as that is possible."""
        return not self.put_off and not any(
            isinstance(step, HoldBudget | MakeHold) and step.key not in self.denied for step in self.steps
        )

    @property
    def ends(self) -> int:
        """How many holds it ends."""
        return sum(isinstance(step, DeleteHold | RestoreBudget) for step in self.steps)


def wanted(view: View, may_move: frozenset[WorkloadId]) -> bool:
    """Whether held workloads need budgets: always, or since somebody else began to drain; once begun, on."""
    if (
        view.target.mode is Mode.TEMPLATE
        or view.spec.hold is Hold.ALWAYS
        or view.fleet.drained_by_others
        or view.holds
    ):
        return True
    if emptying(view):
        return False
    held = [tally for id_, tally in view.tallies.items() if tally.evicted and id_ not in may_move]
    # what we asked for ourselves may still be on its way when a workload is held again, as after a rollback
    return any(not evicted_by_us(uid, view.outcomes) for tally in held for uid in tally.evicted)


def holding(view: View, may_move: frozenset[WorkloadId]) -> Holding:
    """Hold workloads whose turn has not come, let go of the others. While the migration is paused nothing new
    is held: whoever drains a node by hand pauses it for that."""
    if not wanted(view, may_move):
        return Holding()
    held = [
        id_
        for id_, tally in view.tallies.items()
        if id_ not in may_move and not tally.skipped and not _makes_room(view, tally)
    ]
    keep, unknown = set(held), view.unreadable_in()
    known = [one for one in view.holds if one.namespace not in unknown] if unknown else view.holds
    steps: list[Step] = [step for one in known if (step := _let_go(view, one, keep)) is not None]
    picking = Picking(view)
    # beside a budget that nobody can read one of ours could be a second one
    sure = [id_ for id_ in held if id_.namespace not in unknown] if unknown else held
    found = [one for id_ in sure for one in _hold(view, view.tallies[id_], picking)]
    fresh = [one for one in found if isinstance(one, HoldBudget | MakeHold)]
    notes = tuple(one for one in found if isinstance(one, str))
    if view.spec.paused:
        return Holding(tuple(steps), notes, put_off=len({step.workload for step in fresh}))
    denied = [step for step in fresh if _is_denied(view, step)] if view.outcomes.last else []
    notes += tuple(
        f"{step.workload} cannot be held against drains of others, and the move goes on without:"
        f" {retries.failure(view.outcomes, step)}"
        for step in denied
    )
    return Holding((*steps, *fresh), notes, denied=frozenset(step.key for step in denied))


def _is_denied(view: View, step: Step) -> bool:
    last = view.outcomes.of(step)
    return last is not None and last.answer is Answer.FAILED and last.attempt >= _DENIED_AFTER


def emptying(view: View) -> str:
    """The old node that we empty to make room."""
    return view.status.emptying


def _makes_room(view: View, tally: Tally) -> bool:
    """Its pods have to leave the node that is being emptied, so it cannot be held now."""
    node = emptying(view)
    return bool(node) and any(pod.node == node for pod in (*tally.away, *tally.evicting))


def _let_go(view: View, budget: PodDisruptionBudget, held: set[WorkloadId]) -> Step | None:
    """What ends a hold that is no longer right; None while it is."""
    ids = tuple(view.covers.get(budget.uid, ()))
    if is_made_by_us(budget):
        owner = [id_ for id_ in ids if hold_name(WorkloadKind(id_.kind), id_.name) == budget.name]
        right = len(ids) == 1 and len(owner) == 1 and owner[0] in held and _alone(view, owner[0])
        return None if right else undo(budget)
    right = len(ids) == 1 and ids[0] in held
    return None if right else undo(budget)


def _alone(view: View, id_: WorkloadId) -> bool:
    """Whether all pods of the workload have one budget, the same one."""
    return len(covering(view.tallies[id_])) == 1


def undo(budget: PodDisruptionBudget) -> Step:
    """What ends a hold."""
    if is_made_by_us(budget):
        return DeleteHold(budget.namespace, budget.name, budget.uid, budget.resource_version)
    return RestoreBudget(budget.namespace, budget.name, budget.uid)


def _hold(view: View, tally: Tally, picking: Picking) -> Iterator[Step | str]:
    """How to hold a workload, and lines where it cannot be; nothing where it is or has no pods."""
    rows = [view.budgets[uid] for uid in covering(tally) if uid in view.budgets]
    if not tally.pods:
        return
    if not rows:
        found = _make(tally, picking)
    elif (ours := next(filter(is_made_by_us, rows), None)) is not None:
        found = _loosened(tally, ours)
    else:
        yield from _hold_by_theirs(view, tally)
        return
    if found is not None:
        yield found


def _hold_by_theirs(view: View, tally: Tally) -> Iterator[Step | str]:
    """Each budget that is the only one of some pods; a budget of ours would be a second one."""
    for budgets, pods in _by_budgets(tally).items():
        if len(budgets) == 1:
            found = _hold_by(view, tally, view.budgets[budgets[0]])
            if found is not None:
                yield found
        elif budgets:
            names = " and ".join(
                sorted(f"{one.namespace}/{one.name}" for one in map(view.budgets.get, budgets) if one)
            )
            yield f"{tally.id} cannot be held: PodDisruptionBudgets {names} both select {_which(tally, pods)}"
        else:
            yield (
                f"{tally.id} cannot be held whole: no PodDisruptionBudget covers {_which(tally, pods)}, and"
                " one of ours would be the second of others; let one of yours cover each pod"
            )


def _by_budgets(tally: Tally) -> Mapping[tuple[str, ...], Sequence[Pod]]:
    """Its pods by the budgets that they have."""
    if not tally.apart:
        return {tally.budgets: tally.pods}
    found: defaultdict[tuple[str, ...], list[Pod]] = defaultdict(list)
    for pod in tally.pods:
        found[budgets_of(tally, pod)].append(pod)
    return found


def _which(tally: Tally, pods: Sequence[Pod]) -> str:
    if len(pods) == len(tally.pods):
        return "its pods"
    names = sorted(pod.name for pod in pods)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"its pod{'s' * (len(names) > 1)} {', '.join(names[:_MOST_NAMED])}{more}"


def _hold_by(view: View, tally: Tally, budget: PodDisruptionBudget) -> Step | str | None:
    if is_hold(budget):
        return _loosened(tally, budget)
    if _allows_nothing(budget):
        return None
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
    """What else a budget covers; empty where it covers that workload alone."""
    others = [id_ for id_ in view.covers.get(budget.uid, ()) if id_ != tally.id]
    if others:
        return str(others[0])
    return "other pods" if budget.expected_pods > _own_pods(budget, tally) else ""


def _own_pods(budget: PodDisruptionBudget, tally: Tally) -> int:
    """As how many the pods of the workload may count for the controller of a budget that covers some."""
    if tally.apart and isinstance(budget.min_available, int):
        return len(covered(tally, budget.uid)) + tally.leaving
    return max(tally.row.replicas, len(tally.pods))


def _make(tally: Tally, picking: Picking) -> Step | str | None:
    selector = tally.row.selector
    if selector is None:
        return None
    others = [id_ for id_ in picking.picked(tally.id.namespace, selector) if id_ != tally.id]
    if others:
        return f"{tally.id} cannot be held: its selector also picks pods of {others[0]}"
    if (budget := picking.to_come(tally)) is not None:
        return (
            f"{tally.id} cannot be held: PodDisruptionBudget {budget.namespace}/{budget.name} covers no pod"
            " yet, and would be a second one where pods get what labels it asks for; label them, or delete it"
        )
    return MakeHold(tally.id, selector)
