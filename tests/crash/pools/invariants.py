"""What holds at every moment: a node comes after its machine, nothing comes twice, nothing is taken away."""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.api.marks import POOL_LABEL
from tests.crash.facts import kind, labels, notes
from tests.crash.pools import facts
from tests.crash.pools.scenarios import Json, Scenario
from tests.crash.recorder import Change, Key, State, Trace, moments

_FAKE = "kwok.x-k8s.io/node"


def broken(scenario: Scenario, trace: Trace) -> list[str]:
    """Each thing once, however often it was so."""
    lost = {one for act in scenario.acts for one in act.lose}
    found = dict.fromkeys(_come_back(scenario, trace))
    before = dict(trace.start)
    for change, state in moments(trace):
        for line in _broken(change, before, state, lost, scenario):
            found[line] = None
        before = dict(state)
    return list(found)


def _come_back(scenario: Scenario, trace: Trace) -> Iterator[str]:
    """What nobody asks for any more, and somebody took away."""
    away: set[Key] = set()
    for change, _ in moments(trace):
        if change.gone:
            away.add(change.key)
        elif change.key in away and _what(change) in {one for act in scenario.acts for one in act.without}:
            yield f"{_what(change)} came back, and nobody asks for it"


def _what(change: Change) -> str:
    return f"{change.key.kind}/{change.key.name}"


def _too_early(pool: Json) -> Iterator[str]:
    ready = facts.status(pool).get("ready", {})
    if facts.condition(pool, "Ready").get("status") == "True" and ready.get("done") != ready.get("total"):
        yield f"MachinePool {pool['metadata']['name']} says it is complete, with {ready.get('summary')} ready"


def _broken(change: Change, before: State, state: State, lost: set[str], scenario: Scenario) -> Iterator[str]:
    name, what = change.key.name, _what(change)
    if change.gone and change.key.kind in ("Node", "Machine") and what not in lost:
        yield f"{what} is gone, and nobody took it away"
    if change.key.kind == "MachinePool" and not change.gone:
        yield from _too_early(change.object)
    if change.gone or change.key in before:
        return
    if change.key.kind == "Node" and POOL_LABEL in labels(change.object):
        if Key("Machine", "", name) not in before:
            yield f"{what} was made before its machine was written down"
        if notes(change.object).get(_FAKE) != "fake":
            yield f"{what} is not simulated"
    most = max([scenario.replicas, *(act.spec.get("replicas", 0) for act in scenario.acts)])
    if change.key.kind == "Machine" and len(list(kind(state, "Machine"))) > most:
        yield f"there are more than {most} machines"
