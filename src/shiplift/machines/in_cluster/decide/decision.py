"""From a view to what is done: pool by pool, and told of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice, zip_longest

import msgspec

from shiplift.engine import contested, retries
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.step import Step
from shiplift.machines.in_cluster.decide.case import Case, cases
from shiplift.machines.in_cluster.decide.course import followed
from shiplift.machines.in_cluster.decide.gates import stopped
from shiplift.machines.in_cluster.model import Keeping, Line, View
from shiplift.machines.in_cluster.steps import MakeMachine, MakeNode
from shiplift.machines.in_cluster.tell import report

AT_ONCE = 100
"""So many steps, and so many machines to tell of, in one round: a large pool is seen to grow."""
_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""
_NOW = timedelta(0)


def decide(view: View, now: datetime) -> Keeping:
    """What to do now."""
    if view.stale:
        return Keeping(look_again=requeue(_SOON))
    judged = [(case, judge(case)) for case in cases(view, now)]
    machines = list(islice(_told(judged), AT_ONCE + 1))
    decision = Keeping(
        steps=tuple(step for _, line in judged for step in line.steps),
        look_again=_look_again((line for _, line in judged), now),
        pools=tuple(report.pool_told(case, line) for case, line in judged),
        machines=tuple(machines[:AT_ONCE]),
    )
    due = retries.only_due(
        decision,
        lambda step: max(retries.wait(view.outcomes, step, now), contested.wait(view.changes, step, now)),
    )
    return _bounded(due, more=len(machines) > AT_ONCE)


def judge(case: Case) -> Line:
    """Where a pool is, and what is done for it."""
    return stopped(case) or followed(case)


def _told(judged: Iterable[tuple[Case, Line]]) -> Iterable[report.MachineTold]:
    for case, _ in judged:
        yield from report.machines_told(case)


def _look_again(lines: Iterable[Line], now: datetime) -> LookAgain:
    times = [requeue(line.due - now) for line in lines if line.due is not None]
    return earliest(*times) if times else await_change()


def _bounded(decision: Keeping, *, more: bool) -> Keeping:
    """No more than one round takes; what is left is looked at right after it."""
    if len(decision.steps) <= AT_ONCE and not more:
        return decision
    steps = tuple(islice(_in_turn(decision.steps), AT_ONCE))
    return msgspec.structs.replace(decision, steps=steps, look_again=requeue(_NOW))


def _in_turn(steps: Iterable[Step]) -> Iterator[Step]:
    """One of each pool after the other: what is refused for one pool holds up no other."""
    pools: dict[str, list[Step]] = {}
    for step in steps:
        pools.setdefault(step.pool if isinstance(step, MakeMachine | MakeNode) else "", []).append(step)
    rounds = zip_longest(*pools.values())
    return (step for each in rounds for step in each if step is not None)
