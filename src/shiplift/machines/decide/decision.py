"""The decision: from what machines say to what is done, without I/O, clock or chance.

What is kept true, whatever happens in between:
- where the cluster begins is on record before anything else is done, and it begins nowhere else;
- every command is on record on its machine before it begins, and is begun once;
- one control plane joins at a time; a machine that fails is named and holds up no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from shiplift.api.machines import MachinePhase
from shiplift.engine.decision import await_change, requeue
from shiplift.machines.decide import joining, refusals, stages
from shiplift.machines.decide.choosing import Chosen, choose
from shiplift.machines.decide.founding import Line, founding
from shiplift.machines.decide.joining import Around
from shiplift.machines.decide.stand import Case, Stand
from shiplift.machines.model import Bootstrapping, Founding, Purpose, Reason, Told, View
from shiplift.machines.pools import Candidate

_LOOK_AGAIN = timedelta(seconds=1)
"""No event tells what becomes of a machine."""


def decide(view: View, now: datetime) -> Bootstrapping:
    """What to do now."""
    line = refusals.nobody(view, now) or refusals.unreadable(view) or refusals.twice(view)
    if line is not None:
        return _closed(line)
    found = founding(view, now)
    if isinstance(found, Line):
        return _closed(found)
    chosen = choose(view, found)
    for gate in refusals.GATES:
        if (line := gate(view, chosen, found)) is not None:
            return _closed(line)
    return _together(view, chosen, _stands(view, now, chosen.machines, found))


def _closed(line: Line) -> Bootstrapping:
    again = requeue(_LOOK_AGAIN) if line.waits else await_change()
    return Bootstrapping(
        look_again=again, reason=line.reason, message=line.message, hint=line.hint, over=not line.waits
    )


def _stands(view: View, now: datetime, machines: tuple[Candidate, ...], found: Founding) -> dict[str, Stand]:
    cases = {
        one.name: Case(view, now, one, facts, found)
        for one in machines
        if (facts := view.facts(one.name)) is not None
    }
    silent = {
        one.name: stages.quiet(one.name, quiet, now)
        for one in machines
        if (quiet := view.silent(one.name)) is not None
    }
    initial = {name: None if _in_cluster(case) else stages.initialised(case) for name, case in cases.items()}
    around = _around(view, machines, initial, silent, cases)
    return silent | {name: initial[name] or _onwards(case, around) for name, case in cases.items()}


def _in_cluster(case: Case) -> bool:
    """Whether it was initialised long ago: from then on its software is a rollout's to change."""
    begun = any(case.facts.last(one.value) is not None for one in (Purpose.INIT, Purpose.JOIN))
    return case.facts.mark is not None and (begun or case.facts.joined)


def _around(
    view: View,
    machines: tuple[Candidate, ...],
    initial: Mapping[str, Stand | None],
    silent: Mapping[str, Stand],
    cases: Mapping[str, Case],
) -> Around:
    """Who has joined, whose turn it is. A control plane that has failed gives its turn to the next."""
    joined = {name for name, case in cases.items() if initial[name] is None and _has_joined(case)}
    initially: dict[str, Stand | None] = {**silent, **initial}
    given_up = {name for name, one in initially.items() if one is not None and one.failed}
    probe = Around((), "?", "")
    for name, case in cases.items():
        if initial[name] is None and name not in joined and not joining.begins(case):
            stand = joining.join(case, probe)
            given_up |= {name} if stand is not None and stand.failed else set()
    order = tuple(one for one in machines if one.name not in given_up)
    return joining.around(view, order, initially, frozenset(joined))


def _has_joined(case: Case) -> bool:
    if joining.begins(case):
        return joining.begin(case, Around((), "", "")) is None
    return joining.join(case, Around((), "?", "")) is None


def _onwards(case: Case, around: Around) -> Stand:
    if joining.begins(case):
        entering = joining.begin(case, around) or joining.network(case)
    else:
        entering = joining.join(case, around)
    return entering or stages.agent_of_node(case) or joining.arrived(case)


def _together(view: View, chosen: Chosen, stands: Mapping[str, Stand]) -> Bootstrapping:
    machines = chosen.machines
    told = tuple(_told(one, stands[one.name]) for one in machines) + tuple(map(_excess, chosen.too_many))
    # who waits for others waits in vain when none of them moves
    over = all(one.settled or one.reason is Reason.WAITS for one in stands.values())
    reason, message, hint = _summary(chosen, stands, over)
    return Bootstrapping(
        steps=tuple(step for one in machines for step in stands[one.name].steps),
        look_again=await_change() if over else requeue(_LOOK_AGAIN),
        told=told,
        reason=reason,
        message=message,
        hint=hint,
        over=over,
        notes=tuple(_notes(view)),
    )


def _summary(chosen: Chosen, stands: Mapping[str, Stand], over: bool) -> tuple[Reason, str, str]:
    done = sum(one.done for one in stands.values())
    counted = f"{done} of {len(chosen.machines)} machines are part of the cluster"
    if not over:
        return Reason.BOOTSTRAPPING, counted, ""
    wrong = [(name, one) for name, one in stands.items() if one.failed]
    if wrong:
        name, first = wrong[0]
        return Reason.INCOMPLETE, f"{counted}; {name}: {first.message}", first.hint
    if chosen.too_many:
        one = chosen.too_many[0]
        text = f"{counted}; {one.name} is there beyond the replicas of pool {one.pool.metadata.name}"
        return Reason.REMOVAL_NOT_DONE, text, "bootstrap adds machines and removes none"
    waits = [(name, one) for name, one in stands.items() if not one.done]
    if waits:
        name, first = waits[0]
        return Reason.INCOMPLETE, f"{counted}; {name}: {first.message}", "no machine that it waits for moves"
    return Reason.COMPLETE, counted, ""


def _told(machine: Candidate, stand: Stand) -> Told:
    phase = MachinePhase.FAILED if stand.failed else stand.phase
    return Told(machine, phase, stand.reason, stand.message, stand.hint)


def _excess(machine: Candidate) -> Told:
    text = f"pool {machine.pool.metadata.name} asks for fewer machines; it is not removed"
    return Told(machine, MachinePhase.JOINED, Reason.REMOVAL_NOT_DONE, text)


def _notes(view: View) -> list[str]:
    """What is there and nobody asked for."""
    hosts = set(view.hosts)
    strange = [one.name for one in view.nodes or () if one.name not in hosts]
    paused = [one.metadata.name for one in view.wanted.pools if one.spec.paused]
    return [
        *(f"node {name} is in no pool; it is left as it is" for name in strange),
        *(f"pool {name} is paused: no machine is added to it" for name in paused),
    ]
