"""The judge of a run: the same end as without trouble, no more done than needed, nothing broken on the way.

What is free to differ, what must hold at every moment and what is residue, the layer says. What differs
between clean runs is no divergence either: the reference is made of several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tests.crash.director import Book
from tests.crash.recorder import State, Trace
from tests.crash.suite import Flat, Scenario, Suite

STUCK = "it did not end"


class Evidence(msgspec.Struct, frozen=True):
    """All that is known of one run."""

    trace: Trace
    book: Book
    logs: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    """What was found wrong while it ran: it did not end, a process died, writes went on."""
    beyond: State = {}
    """What the upstreams hold at the end."""

    def end(self) -> State:
        return self.trace.end() | self.beyond


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


def clean_run(suite: Suite[Any], scenario: Scenario, evidence: Evidence) -> CleanRun:
    trace = evidence.trace
    made, gone = _counted(suite, trace, gone=False), _counted(suite, trace, gone=True)
    return CleanRun(suite.end(scenario, evidence.end()), dict(made), dict(gone), evidence.book)


def reference(runs: Sequence[CleanRun]) -> Reference:
    every = {path for run in runs for path in run.end}
    varies = frozenset(path for path in every if len({repr(run.end.get(path)) for run in runs}) > 1)
    created, deleted = _most([run.created for run in runs]), _most([run.deleted for run in runs])
    return Reference(runs[0].end, varies, created, deleted)


def judge(
    suite: Suite[Any],
    scenario: Scenario,
    evidence: Evidence,
    clean: Reference | None,
    others: Iterable[Suite[Any]] = (),
) -> list[str]:
    """Everything that is wrong with the run; nothing, when it is as good as a clean one.

    `others` are those of the other layers that the operator ran: they must leave nothing behind either.
    """
    found = [*evidence.complaints, *_in_logs(evidence.logs), *_in_book(evidence.book)]
    found += suite.broken(scenario, evidence.trace)
    if any(one.startswith(STUCK) for one in evidence.complaints):
        return found
    end = evidence.end()
    found += [line for one in (suite, *others) for line in one.residue(end)]
    if clean:
        found += _other_end(suite.end(scenario, end), clean)
        found += _done_too_often(suite, scenario, evidence.trace, clean)
    return found


# --- the operator's own doing ---


def _in_logs(logs: Sequence[str]) -> list[str]:
    """The first traceback, with what it is of: its end in the line of a log, or in those that follow."""
    _, found, after = "\n".join(logs).partition("Traceback (most recent call last)")
    return [f"a traceback in the log: {_raised(after)}"] if found else []


def _raised(after: str) -> str:
    head, *following = after.splitlines()
    if len(head) > 1:
        return head[-600:]
    own = (line for line in following if not line.startswith((" ", "\t")) and line.strip())
    return next(own, "it has no end")[:600]


def _in_book(book: Book) -> Iterator[str]:
    latest = 0
    for entry in (one for one in book.writes if not one.call.outside and not one.call.by):
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


def _counted(suite: Suite[Any], trace: Trace, *, gone: bool) -> Counter[str]:
    there = set(trace.start)
    counts: Counter[str] = Counter()
    for change in trace.changes:
        happened = change.gone if gone else not change.gone and change.key not in there
        counts[suite.counted_as(change)] += happened
        (there.discard if change.gone else there.add)(change.key)
    return counts


def _most(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: max(one.get(name, 0) for one in counts) for each in counts for name in each}


def _done_too_often(suite: Suite[Any], scenario: Scenario, trace: Trace, clean: Reference) -> Iterator[str]:
    for gone, allowed, word in ((False, clean.created, "created"), (True, clean.deleted, "deleted")):
        for name, times in _counted(suite, trace, gone=gone).items():
            limit = max(allowed.get(name, 0), suite.most(scenario, name))
            if times > limit:
                yield f"{name}: {word} {times} times, {limit} in a clean run"


# --- the end ---


def _other_end(end: Flat, clean: Reference) -> Iterator[str]:
    for path in sorted({*end, *clean.end} - clean.varies):
        if end.get(path) != clean.end.get(path):
            yield f"at the end {path} is {end.get(path)!r}, {clean.end.get(path)!r} after a clean run"
