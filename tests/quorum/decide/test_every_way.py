"""Every state that a swap can get into, whatever servers, pods and the operator do: nothing forbidden is ever
decided there, and from each of them it ends.

A service of three servers in two StatefulSets is walked through breadth first: each step is answered in every
way that it can be, StatefulSets are written one without the other, a switch reaches any of the servers, and
up to two faults (one where somebody waits for it) happen anywhere: the operator is killed, a container
restarts, a pod is deleted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import combinations

import msgspec
import pytest

from shiplift.api.quorum import QuorumStrategy
from shiplift.engine.probes import Truth
from shiplift.engine.step import Answer, Outcome, Outcomes, Started, Step
from shiplift.quorum.decide import decide
from shiplift.quorum.engines.protocol import Told
from shiplift.quorum.model import Candidate, Member, Pool, QuorumDecision, Validity, View, Wanted
from shiplift.quorum.steps import (
    Begin,
    DeletePod,
    Finish,
    LiftHold,
    PutBack,
    Rehearse,
    SetFinalizer,
    Stage,
    Switch,
    Validate,
)
from tests.examples import tries
from tests.quorum.decide.views import (
    GOOD,
    IMAGE,
    NEW,
    NOW,
    OLD,
    ORDER,
    SERVICE,
    TAGGED,
    TARGET_SAID,
    WAS,
    swap,
)

COUNT = 3
POOL_OF = ("a", "a", "b")
FAULTS = 2
ROUNDS = 60


class Set(msgspec.Struct, frozen=True):
    begun: bool = False
    held: bool = False
    new_image: bool = False
    """Of its template."""


class Server(msgspec.Struct, frozen=True):
    new_image: bool = False
    new: bool = False
    started: bool = True
    """It has started at least once with what it runs: from then on it serves."""
    uid: int = 0


class State(msgspec.Struct, frozen=True):
    sets: tuple[Set, ...] = (Set(), Set())
    servers: tuple[Server, ...] = (Server(),) * COUNT
    known: bool = False
    rehearsed: frozenset[tuple[int, int]] = frozenset()
    kept: bool = False
    """Whether the service has our finalizer."""
    staged: frozenset[tuple[int, int]] = frozenset()
    operation: str = ""
    ended: str = ""
    """How the operation on record ended: refused, failed."""
    given_up: bool = False
    deleting: bool = False
    faults: int = FAULTS
    strategy: QuorumStrategy = QuorumStrategy.IN_PLACE


def view_of(state: State) -> View:
    pools = tuple(_pool(name, one) for name, one in zip("ab", state.sets, strict=True))
    well = all(server.started for server in state.servers)
    members = tuple(_member(state, at, well) for at in range(COUNT))
    outcomes: dict[str, Outcome] = {}
    if state.ended:
        key = f"{state.operation} {NEW}"
        answer = Answer.FAILED if state.ended == "failed" else Answer.REFUSED
        outcomes[key] = Outcome(step=key, answer=answer, message="x", at=NOW - timedelta(minutes=1))
    return View(
        SERVICE,
        Wanted(TAGGED, strategy=state.strategy),
        pools,
        (),
        members,
        GOOD if state.known else Candidate(Validity.UNKNOWN),
        ORDER,
        operation=_record(state),
        staged=frozenset(f"uid-{at}-{uid}" for at, uid in state.staged),
        given_up="x" if state.given_up else "",
        deleting=state.deleting,
        outcomes=Outcomes(outcomes),
        rehearsed=frozenset(f"uid-{at}-{uid}" for at, uid in state.rehearsed),
        uid="uid-qs",
        kept=state.kept,
    )


def _pool(name: str, one: Set) -> Pool:
    image = IMAGE if one.new_image else WAS
    return Pool(name, f"uid-{name}", image, one.begun, swap(held=one.held) if one.begun else None, replicas=2)


def _member(state: State, at: int, well: bool) -> Member:
    server = state.servers[at]
    said = Told(TARGET_SAID if server.new else OLD, server.started, 2, ("x:1", "y:1", "z:1"))
    return Member(
        f"{POOL_OF[at]}-{at}",
        f"uid-{at}-{server.uid}",
        POOL_OF[at],
        IMAGE if server.new_image else WAS,
        ready=server.started,
        leaving=False,
        told=said,
        sings=Truth.of(server.started),
        may_stop=Truth.of(well),
    )


def _record(state: State) -> Started | None:
    if not state.operation:
        return None
    # before what ended it; a record that was written anew is younger
    began = NOW - timedelta(minutes=2 if state.ended else 0)
    begun = any(one.begun for one in state.sets)
    target = NEW if begun or state.known else "image"
    return Started(f"{state.operation}-{target}-1", began, NOW + timedelta(minutes=10))


def settled(state: State) -> State:
    """Servers that start do so when another runs what they run; those that run go on."""
    servers = list(state.servers)
    for at, server in enumerate(servers):
        peers = [other for one, other in enumerate(servers) if one != at]
        if not server.started and any(other.new == server.new for other in peers):
            servers[at] = msgspec.structs.replace(server, started=True)
    return msgspec.structs.replace(state, servers=tuple(servers))


def after(state: State, decision: QuorumDecision) -> Iterator[State]:
    """All states that may follow a decision; each alone, for the operator may be killed after any of them."""
    if decision.record is not None:
        verb = decision.record.id.partition("-")[0]
        yield msgspec.structs.replace(state, operation=verb, ended="")
    if decision.give_up:
        yield msgspec.structs.replace(state, given_up=True)
    for step in decision.steps:
        yield from taken(state, step)


def taken(state: State, step: Step) -> Iterator[State]:
    match step:
        case Validate():
            yield msgspec.structs.replace(state, known=True, operation="", ended="")
        case SetFinalizer():
            yield msgspec.structs.replace(state, kept=step.present)
        case Rehearse():
            everybody = frozenset((at, server.uid) for at, server in enumerate(state.servers))
            yield msgspec.structs.replace(state, rehearsed=everybody, operation="rehearse", ended="")
            yield msgspec.structs.replace(state, ended="refused")
            yield msgspec.structs.replace(state, ended="failed")
        case Begin() | PutBack() | Finish() | LiftHold():
            yield _with_set(state, step.pool, _written(step))
        case Stage():
            everybody = frozenset((at, server.uid) for at, server in enumerate(state.servers))
            yield msgspec.structs.replace(state, staged=everybody, operation="stage", ended="")
            yield msgspec.structs.replace(state, ended="refused")
            yield msgspec.structs.replace(state, ended="failed")
        case Switch():
            yield from _switched(state)
        case DeletePod():
            yield _anew(state, int(step.pod[-1]))
        case _:
            raise AssertionError(step)


def _written(step: Step) -> Set:
    """What a write makes of a StatefulSet: the image stays when a swap is finished."""
    match step:
        case PutBack():
            return Set()
        case Finish():
            return Set(new_image=True)
        case _:
            return Set(True, isinstance(step, Begin), True)


def _switched(state: State) -> Iterator[State]:
    """Any of the old servers restart with the new binary, or none does; the answer is lost, or a refusal."""
    old = [at for at, server in enumerate(state.servers) if not server.new]
    for size in range(len(old) + 1):
        for which in combinations(old, size):
            servers = tuple(
                msgspec.structs.replace(server, new=True, started=False) if at in which else server
                for at, server in enumerate(state.servers)
            )
            yield msgspec.structs.replace(state, servers=servers, ended="refused")


def _with_set(state: State, name: str, one: Set) -> State:
    sets = tuple(one if this == name else other for this, other in zip("ab", state.sets, strict=True))
    return msgspec.structs.replace(state, sets=sets)


def _anew(state: State, at: int) -> State:
    new = state.sets["ab".index(POOL_OF[at])].new_image
    server = Server(new, new, False, state.servers[at].uid + 1)
    return _with_server(state, at, server)


def _with_server(state: State, at: int, server: Server) -> State:
    servers = (*state.servers[:at], server, *state.servers[at + 1 :])
    return msgspec.structs.replace(state, servers=servers)


def faults(state: State) -> Iterator[State]:
    if not state.faults:
        return
    spent = msgspec.structs.replace(state, faults=state.faults - 1)
    yield msgspec.structs.replace(spent, staged=frozenset(), rehearsed=frozenset(), ended="", known=False)
    yield msgspec.structs.replace(spent, deleting=True)
    for at, server in enumerate(state.servers):
        restarted = msgspec.structs.replace(server, new=server.new_image, started=False)
        yield _with_server(spent, at, restarted)
        yield _anew(spent, at)


def walk(start: State) -> Iterable[tuple[State, QuorumDecision]]:
    """Every state that can be reached, and what is decided there."""
    seen, waiting = {start}, deque([start])
    while waiting:
        state = waiting.popleft()
        decision = decide(view_of(state), NOW)
        yield state, decision
        for following in (*after(state, decision), *faults(state)):
            for one in {following, settled(following)}:
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)


def allowed(state: State, step: Step) -> bool:
    all_well = all(server.new and server.started for server in state.servers)
    rules = {
        Validate: lambda: True,
        Begin: lambda: state.kept and _needs_marks(state.sets["ab".index(step.pool)]),
        Rehearse: lambda: state.known and not any(one.begun for one in state.sets),
        SetFinalizer: lambda: step.present or not any(one.begun for one in state.sets),
        PutBack: lambda: not any(server.new or server.new_image for server in state.servers),
        Stage: lambda: _through_old(state, step),
        Switch: lambda: _through_old(state, step) and _held_and_staged(state),
        LiftHold: lambda: all_well,
        DeletePod: lambda: _may_go(state, state.servers[int(step.pod[-1])]),
        Finish: lambda: all_well and all(server.new_image for server in state.servers),
    }
    return rules[type(step)]()


def _through_old(state: State, step: Stage | Switch) -> bool:
    return (
        state.known and all(one.begun for one in state.sets) and not state.servers[int(step.through[-1])].new
    )


def _needs_marks(one: Set) -> bool:
    """One that is finished is not begun again."""
    return one == Set() or (one.begun and not one.held)


def _held_and_staged(state: State) -> bool:
    old = {(at, server.uid) for at, server in enumerate(state.servers) if not server.new}
    return all(one.held for one in state.sets) and old <= state.staged


def _may_go(state: State, server: Server) -> bool:
    if server.new_image or not all(one.begun for one in state.sets):
        return False
    if state.strategy is QuorumStrategy.RECREATE_ALL:
        return True
    after_the_switch = all(one.new and one.started for one in state.servers)
    blocked = not server.new and not server.started and any(one.new for one in state.servers)
    return after_the_switch or blocked


def ends(state: State) -> bool:
    """With everything answered well from here on: all new and nothing of ours left, or all as it was."""
    for _ in range(ROUNDS):
        if not any(one.begun for one in state.sets) and (state.given_up or state.deleting or _done(state)):
            return True
        decision = decide(view_of(state), NOW)
        following = list(_well(state, decision))
        state = settled(following[-1] if following else state)
    return False


def _done(state: State) -> bool:
    return all(server.new and server.new_image and server.started for server in state.servers)


def _well(state: State, decision: QuorumDecision) -> Iterator[State]:
    """One after the other, each answered as well as it can be."""
    if decision.record is not None or decision.give_up:
        yield next(after(state, decision))
    for step in decision.steps:
        answers = list(taken(state, step))
        state = answers[-1] if isinstance(step, Switch) else answers[0]
        yield state


@pytest.mark.parametrize("strategy", list(QuorumStrategy))
def test_nothing_forbidden_is_decided_anywhere_and_every_way_ends(strategy: QuorumStrategy) -> None:
    count = 0
    for state, decision in walk(State(strategy=strategy, faults=tries(FAULTS))):
        count += 1
        for step in decision.steps:
            assert allowed(state, step), (step, state)
        deletions = [step for step in decision.steps if isinstance(step, DeletePod)]
        if strategy is QuorumStrategy.IN_PLACE and _all_new(state):
            assert len(deletions) <= 1, state
        if not state.faults:
            assert ends(state), state
    assert count > 300 * tries(FAULTS)


def _all_new(state: State) -> bool:
    return all(server.new for server in state.servers)
