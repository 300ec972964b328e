"""The judge of a run: the same end as without trouble, no more done than needed, nothing broken on the way.

What is free to differ is taken out first: which node of a pool, which name of a pod, uids, versions, times.
What differs between clean runs is no divergence either: the reference is made of several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from tests.crash import facts, invariants
from tests.crash.director import Book
from tests.crash.recorder import Change, Key, State, Trace
from tests.crash.scenarios import HalfWay, Scenario

Json = dict[str, Any]
Flat = dict[str, Any]

_FREE_META = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}
)
_FREE_STATUS = frozenset({"moves", "eta", "observedGeneration", "met"})
_FREE_CONDITION = frozenset({"lastTransitionTime", "observedGeneration", "message"})
_FREE_PROGRESS = frozenset({"progress", "pods", "waves", "workloads", "exceptions"})
STUCK = "it did not end"
_REVISION = "deployment.kubernetes.io/revision"
_ROUNDS = {HalfWay.NOTHING: 0, HalfWay.ABORT: 1, HalfWay.ROLL_BACK: 2}


class Evidence(msgspec.Struct, frozen=True):
    """All that is known of one run."""

    trace: Trace
    book: Book
    logs: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    """What was found wrong while it ran: it did not end, a process died, writes went on."""


class CleanRun(msgspec.Struct, frozen=True):
    """What is kept of a run without trouble."""

    end: Flat
    created: dict[str, int]
    deleted: dict[str, int]
    book: Book


class Reference(msgspec.Struct, frozen=True):
    """What clean runs of a scenario look like."""

    end: Flat
    varies: frozenset[str]
    created: dict[str, int]
    deleted: dict[str, int]


def clean_run(scenario: Scenario, evidence: Evidence) -> CleanRun:
    trace = evidence.trace
    made, gone = _counted(trace, gone=False), _counted(trace, gone=True)
    return CleanRun(flat_end(trace, scenario), dict(made), dict(gone), evidence.book)


def reference(runs: Sequence[CleanRun]) -> Reference:
    every = {path for run in runs for path in run.end}
    varies = frozenset(path for path in every if len({repr(run.end.get(path)) for run in runs}) > 1)
    created, deleted = _most([run.created for run in runs]), _most([run.deleted for run in runs])
    return Reference(runs[0].end, varies, created, deleted)


def judge(scenario: Scenario, evidence: Evidence, clean: Reference | None) -> list[str]:
    """Everything that is wrong with the run; nothing, when it is as good as a clean one."""
    trace = evidence.trace
    found = [*evidence.complaints, *_in_logs(evidence.logs), *_in_book(evidence.book)]
    found += invariants.under_budget(trace, scenario)
    found += invariants.two_budgets(trace)
    found += invariants.begun_anew(trace)
    found += invariants.out_of_order(trace, scenario)
    if any(one.startswith(STUCK) for one in evidence.complaints):
        return found
    found += facts.residue(trace.end())
    if clean:
        found += _other_end(flat_end(trace, scenario), clean)
        found += _done_too_often(scenario, trace, clean)
    return found


# --- the operator's own doing ---


def _in_logs(logs: Sequence[str]) -> list[str]:
    lines = [line for log in logs for line in log.splitlines() if "Traceback (most recent call last)" in line]
    return [f"a traceback in the log: {line[-600:]}" for line in lines[:1]]


def _in_book(book: Book) -> Iterator[str]:
    latest = 0
    for entry in book.writes:
        if not entry.call.guarded:
            yield f"{entry.call.step} {entry.call.about} does not say by uid which object it means"
        epoch = entry.call.manager.removeprefix("shiplift-")
        if epoch.isdigit():
            if entry.accepted and int(epoch) < latest:
                yield f"{entry.call.step} of epoch {epoch} was accepted after epoch {latest} had begun"
            latest = max(latest, int(epoch))
        elif not entry.call.step.startswith(("delete", "apply")):
            yield f"{entry.call.step} {entry.call.about} does not say of which epoch it is"


# --- how often things were made and removed ---


def _counted(trace: Trace, *, gone: bool) -> Counter[str]:
    there = set(trace.start)
    counts: Counter[str] = Counter()
    for change in trace.changes:
        counts[_stable(change)] += change.gone if gone else not change.gone and change.key not in there
        (there.discard if change.gone else there.add)(change.key)
    return counts


def _stable(change: Change) -> str:
    if change.key.kind == "Pod":
        return f"pods of {facts.owner(change.object)}"
    return str(change.key)


def _most(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: max(one.get(name, 0) for one in counts) for each in counts for name in each}


def _done_too_often(scenario: Scenario, trace: Trace, clean: Reference) -> Iterator[str]:
    """Where the user steps in half-way, how far it had come is open: then once for each way is the limit."""
    rounds = 2 if scenario.unsteered else _ROUNDS[scenario.half_way]
    for gone, allowed, word in ((False, clean.created, "created"), (True, clean.deleted, "deleted")):
        for name, times in _counted(trace, gone=gone).items():
            replicas = [one.replicas for one in scenario.workloads if name == f"pods of {one.id}"]
            limit = max(allowed.get(name, 0), rounds * (replicas[0] if replicas else 1))
            if times > limit:
                yield f"{name}: {word} {times} times, {limit} in a clean run"


# --- the end ---


def _other_end(end: Flat, clean: Reference) -> Iterator[str]:
    for path in sorted({*end, *clean.end} - clean.varies):
        if end.get(path) != clean.end.get(path):
            yield f"at the end {path} is {end.get(path)!r}, {clean.end.get(path)!r} after a clean run"


def flat_end(trace: Trace, scenario: Scenario) -> Flat:
    """The objects at the end, without what is free, field by field."""
    state = trace.end()
    flat: Flat = {}
    alike = Counter(
        _text(_pod(thing, scenario) if key.kind == "Pod" else _node(thing))
        for key, thing in state.items()
        if key.kind in ("Pod", "Node")
    )
    flat |= {f"number of {what}": number for what, number in alike.items()}
    for key, thing in state.items():
        if key.kind not in ("Pod", "Node"):
            flat |= dict(_flatten(str(key), _object(key, thing, scenario)))
    return flat


def _pod(pod: Json, scenario: Scenario) -> Json:
    known: Json = {"pod": facts.owner(pod), "healthy": facts.healthy(pod)}
    known |= {} if scenario.free_placement else {"pool": facts.pool(pod)}
    # half-way back, whether a pod was moved at all is open
    return known | ({"affinity": pod["spec"].get("affinity")} if not scenario.interrupted else {})


def _node(node: Json) -> Json:
    name = node["metadata"]["name"]
    own = {key: value for key, value in facts.labels(node).items() if key.startswith(facts.OURS)}
    spec = node["spec"]
    return {
        "node": name.rpartition("-")[0],
        "labels": own,
        "taints": spec.get("taints", []),
        "closed": spec.get("unschedulable", False),
    }


def _object(key: Key, thing: Json, scenario: Scenario) -> Json:
    about = {name: value for name, value in thing["metadata"].items() if name not in _FREE_META}
    notes = {k: v for k, v in facts.notes(thing).items() if k != _REVISION}
    kept: Json = {"metadata": about | {"annotations": notes}, "spec": thing.get("spec")}
    if key.kind in ("WorkloadMigration", "WorkloadOrder"):
        kept["status"] = _status(thing.get("status", {}), scenario)
    return kept


def _status(status: Json, scenario: Scenario) -> Json:
    free = _FREE_STATUS | _FREE_PROGRESS if scenario.interrupted else _FREE_STATUS
    kept = {name: value for name, value in status.items() if name not in free}
    kept["conditions"] = {
        one["type"]: {k: v for k, v in one.items() if k not in _FREE_CONDITION}
        for one in status.get("conditions", [])
    }
    return kept


def _flatten(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in cast("Json", value).items():
            yield from _flatten(f"{path}.{name}", inner)
    elif value not in ({}, [], None):
        yield path, value


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def ends(state: State) -> str:
    """One line about where a run stands, for when it does not end."""
    status = facts.migration(state).get("status", {})
    pods = Counter(
        f"{facts.owner(pod)} on {facts.pool(pod) or 'no node'}" for pod in facts.kind(state, "Pod")
    )
    waiting = [f"{one['name']}: {one.get('message', '')}" for one in status.get("workloads", [])]
    left = facts.residue(state)
    return f"state {status.get('state')}, {status.get('message', '')}; {waiting}; {dict(pods)}; {left}"
