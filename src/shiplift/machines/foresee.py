"""What becomes of machines when a step goes well: for the plan that is shown before anything is done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from shiplift.engine.step import Step
from shiplift.machines.decide.decision import decide
from shiplift.machines.model import Bootstrapping, Command, CommandState, Facts, Node, Purpose, Silent, View
from shiplift.machines.names import AGENT
from shiplift.machines.pools import Candidate
from shiplift.machines.steps import Claim, Record, Run

_MOST_ROUNDS = 10_000
_ROUND = timedelta(seconds=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def plan(view: View, now: datetime) -> tuple[list[str], Bootstrapping]:
    """What would be done, line by line, if all goes well; and where it would end."""
    lines: list[str] = []
    view = _given_up(view)
    decision = decide(view, now)
    for _ in range(_MOST_ROUNDS):
        if decision.over or not decision.steps:
            break
        for step in decision.steps:
            lines += [step.describe()] * (not isinstance(step, Record))
            view = done(view, step)
        now += _ROUND
        decision = decide(view, now)
    return lines, decision


def _given_up(view: View) -> View:
    """A plan waits for nobody: who is silent is passed over, and named; so are API servers."""
    silent = {
        name: replace(one, since=_LONG_AGO) for name, one in view.hosts.items() if isinstance(one, Silent)
    }
    return replace(view, hosts={**view.hosts, **silent}, api_silent_since=_LONG_AGO)


def done(view: View, step: Step) -> View:
    """The view after the step."""
    if isinstance(step, Claim):
        facts = view.facts(step.machine)
        return _with(view, step.machine, mark=step.mark) if facts and not facts.mark else view
    if isinstance(step, Record):
        return _recorded(view, step)
    if isinstance(step, Run):
        return _ended(_effect(view, step), step)
    raise TypeError(f"{step.describe()}: nobody knows what comes of it")


def _with(view: View, name: str, **changes: object) -> View:
    facts = view.facts(name)
    if facts is None:
        return view
    return replace(view, hosts={**view.hosts, name: replace(facts, **changes)})


def _recorded(view: View, step: Record) -> View:
    facts = view.facts(step.machine)
    if facts is None or any(one.id == step.started.id for one in facts.commands):
        return view
    command = Command(
        id=step.started.id,
        number=len(facts.commands) + 1,
        run=view.run,
        started=step.started.started,
        deadline=step.started.deadline,
        boot=facts.boot_id,
        state=CommandState.RECORDED,
        digest=step.digest,
    )
    return _with(view, step.machine, commands=(*facts.commands, command))


def _ended(view: View, step: Run) -> View:
    facts = view.facts(step.machine)
    if facts is None:
        return view
    commands = tuple(
        replace(one, state=CommandState.ENDED, code=0) if one.id == step.started.id else one
        for one in facts.commands
    )
    return _with(view, step.machine, commands=commands)


def _effect(view: View, step: Run) -> View:
    facts, machine = view.facts(step.machine), _machine(view, step.machine)
    if facts is None:
        return view
    if step.purpose is Purpose.AGENT and view.wanted.agent:
        return _with(view, step.machine, packages={**facts.packages, AGENT: view.wanted.agent.version})
    if step.purpose is Purpose.SOFTWARE:
        packages = {name: version.replace("-*", "-1") for name, version in machine.packages().items()}
        return _with(view, step.machine, packages={**facts.packages, **packages})
    if step.purpose is Purpose.RESTART:
        return _with(view, step.machine, boot_id=f"{facts.boot_id}+")
    if step.purpose in (Purpose.INIT, Purpose.JOIN):
        return _entered(view, facts, machine)
    return _all_ready(view)


def _machine(view: View, name: str) -> Candidate:
    return next(one for one in view.wanted.candidates if one.name == name)


def _entered(view: View, facts: Facts, machine: Candidate) -> View:
    """A node more, told by every control plane."""
    nodes = (*(view.nodes or ()), Node(name=machine.name, machine_id=facts.machine_id, ready=False))
    changes = {"joined": True, "kubeadm": True} | ({"nodes": nodes} if machine.control_plane else {})
    after = _with(view, machine.name, **changes)
    return _all_ready(_telling(after, nodes)) if _has_network(after) else _telling(after, nodes)


def _telling(view: View, nodes: tuple[Node, ...]) -> View:
    for name in _planes(view):
        view = _with(view, name, nodes=nodes)
    return view


def _planes(view: View) -> Iterator[str]:
    yield from [name for name in view.hosts if (facts := view.facts(name)) and facts.nodes is not None]


def _has_network(view: View) -> bool:
    known = (view.facts(name) for name in view.hosts)
    return any(
        one.well and one.purpose == Purpose.NETWORK for facts in known if facts for one in facts.commands
    )


def _all_ready(view: View) -> View:
    return _telling(view, tuple(replace(one, ready=True) for one in view.nodes or ()))
