"""The decision: from what machines say to what is done, without I/O, clock or chance.

What is kept true, whatever happens in between:
- where the cluster begins is on record before anything else is done, and it begins nowhere else;
- every command is on record on its machine before it begins, and is begun once;
- one control plane joins at a time; a machine that fails is named and holds up no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from shiplift.api.machines import MachinePhase
from shiplift.engine.decision import await_change, requeue
from shiplift.machines.decide import joining, refusals, stages
from shiplift.machines.decide.choosing import Chosen, choose
from shiplift.machines.decide.founding import Line, founding
from shiplift.machines.decide.joining import Around
from shiplift.machines.decide.stand import Case, Stand
from shiplift.machines.model import Bootstrapping, CommandState, Founding, Purpose, Reason, Told, View
from shiplift.machines.pools import Candidate
from shiplift.machines.words import some

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
    chosen = choose(view, found, now)
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
    initial = {name: stages.legible(case) or _initially(case) for name, case in cases.items()}
    around = _around(view, now, machines, initial, silent, cases)
    around = around._replace(applies=_applies_network(view, machines, cases, silent, found, around))
    return silent | {name: initial[name] or _onwards(case, around) for name, case in cases.items()}


def _initially(case: Case) -> Stand | None:
    return None if _in_cluster(case) else stages.initialised(case)


def _in_cluster(case: Case) -> bool:
    """Whether it was initialised long ago: from then on its software is a rollout's to change. An init or a
    join that failed and left nothing has changed nothing: what was wrong may have been the software."""
    facts = case.facts
    last = [facts.last(one.value) for one in (Purpose.INIT, Purpose.JOIN)]
    enters = any(one is not None and (one.well or one.state is CommandState.RUNNING) for one in last)
    return facts.mark is not None and (enters or facts.kubeadm or facts.joined)


def _around(
    view: View,
    now: datetime,
    machines: tuple[Candidate, ...],
    initial: Mapping[str, Stand | None],
    silent: Mapping[str, Stand],
    cases: Mapping[str, Case],
) -> Around:
    """Who has joined, whose turn it is. A control plane that has failed gives its turn to the next."""
    joined = {name for name, case in cases.items() if initial[name] is None and _has_joined(case)}
    initially: dict[str, Stand | None] = {**silent, **initial}
    given_up = {name for name, one in initially.items() if one is not None and one.failed}
    probe = Around(able=("?",))
    for name, case in cases.items():
        if initial[name] is None and name not in joined and not joining.begins(case):
            stand = joining.join(case, probe)
            given_up |= {name} if stand is not None and stand.failed else set()
    order = tuple(one for one in machines if one.name not in given_up)
    return joining.around(view, now, order, initially, frozenset(joined))


def _has_joined(case: Case) -> bool:
    if joining.begins(case):
        return joining.begin(case, Around()) is None
    return joining.join(case, Around(able=("?",))) is None


def _applies_network(
    view: View,
    machines: tuple[Candidate, ...],
    cases: Mapping[str, Case],
    silent: Mapping[str, Stand],
    found: Founding,
    around: Around,
) -> str:
    """The machine on which the cluster began; another control plane where that is out of the file, or new, or
    is waited for no more and was not seen to have done it."""
    first = cases.get(found.first)
    if first is None:
        lost = found.first in silent and silent[found.first].failed
        there = any(one.name == found.first for one in machines)
        return found.first if there and (not lost or _has_applied(view, found.first)) else around.via
    return found.first if joining.begins(first) else around.via


def _has_applied(view: View, name: str) -> bool:
    """Whether it was seen in this run that the manifest has been applied there."""
    facts, manifest = view.known(name), view.wanted.network
    last = facts.last(Purpose.NETWORK.value) if facts is not None else None
    return last is not None and last.well and manifest is not None and last.digest == manifest.digest


def _onwards(case: Case, around: Around) -> Stand:
    enters = joining.begin if joining.begins(case) else joining.join
    network = joining.network if case.name == around.applies else _nothing
    return enters(case, around) or network(case) or stages.agent_of_node(case) or joining.arrived(case)


def _nothing(_case: Case) -> None:
    return None


def _together(view: View, chosen: Chosen, stands: Mapping[str, Stand]) -> Bootstrapping:
    machines = chosen.machines
    told = tuple(_told(one, stands[one.name]) for one in machines) + tuple(map(_excess, chosen.too_many))
    # who waits for others waits in vain when none of them moves
    over = all(one.settled or one.reason is Reason.WAITS for one in stands.values())
    reason, message, hint = _summary(view, chosen, stands, over)
    return Bootstrapping(
        steps=tuple(step for one in machines for step in stands[one.name].steps),
        look_again=await_change() if over else requeue(_LOOK_AGAIN),
        told=told,
        reason=reason,
        message=message,
        hint=hint,
        over=over,
        notes=tuple(_notes(view, machines)),
    )


def _summary(view: View, chosen: Chosen, stands: Mapping[str, Stand], over: bool) -> tuple[Reason, str, str]:
    done = sum(one.done or _was_let_in(view, name) for name, one in stands.items())
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


def _was_let_in(view: View, name: str) -> bool:
    """Where nobody tells the nodes: whether a machine says itself that it is part of the cluster."""
    facts = view.known(name)
    return view.nodes is None and facts is not None and facts.joined


def _told(machine: Candidate, stand: Stand) -> Told:
    phase = MachinePhase.FAILED if stand.failed else stand.phase
    return Told(machine, phase, stand.reason, stand.message, stand.hint)


def _excess(machine: Candidate) -> Told:
    text = f"pool {machine.pool.metadata.name} asks for fewer machines; it is not removed"
    return Told(machine, MachinePhase.JOINED, Reason.REMOVAL_NOT_DONE, text)


def _notes(view: View, machines: tuple[Candidate, ...]) -> list[str]:
    """What is there and nobody asked for, and what is asked for and not done."""
    hosts = set(view.hosts)
    strange = [one.name for one in view.nodes or () if one.name not in hosts]
    paused = [one.metadata.name for one in view.wanted.pools if one.spec.paused]
    return [
        *([f"in no pool of this file, and left as they are: nodes {some(strange)}"] if strange else []),
        *(f"pool {name} is paused: no machine is added to it" for name in paused),
        *_differing(view, machines),
    ]


def _differing(view: View, machines: tuple[Candidate, ...]) -> Iterator[str]:
    """Machines of the cluster whose software is another than the file asks for."""
    for one in machines:
        facts = view.facts(one.name)
        if facts is None or not facts.joined:
            continue
        for package, version in stages.lacking(one, facts).items():
            has = facts.packages.get(package) or "none"
            yield (
                f"machine {one.name} has {package} {has}, and the file asks for {version.removesuffix('-*')}:"
                " what is in the cluster is changed by a NodeRollout"
            )
