"""Somebody else who drains a node waits for a while only: held workloads on it are let go before that is
over.

Since when each node is drained by somebody else is written down first. From half of the time on, workloads
that are still held and have pods there are let go, those that depend on the least before those that depend
on them, the last when a quarter of the time is left. Each of their pods there is recorded as an exception to
the order. Where no target node is there yet, or the migration is paused, letting go would help nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from shiplift.api.values import duration
from shiplift.api.workloads import DrainedNode, OrderException
from shiplift.workloads.decide import last, placements
from shiplift.workloads.decide.rescue import MOST_EXCEPTIONS, recorded
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Reason, Tally, View

MOST_DRAINING = 256
_WAITS, _LASTS = 0.5, 0.25
"""Of the time: for so much of it the order holds, and in so much after that all are let go."""


class LetGo(msgspec.Struct, frozen=True):
    """Workloads that are let go before their turn, and what there is to tell of it."""

    early: frozenset[WorkloadId] = frozenset()
    exceptions: tuple[OrderException, ...] = ()
    draining: tuple[DrainedNode, ...] = ()
    """Nodes that somebody else drains, and since when."""
    due: tuple[float, ...] = ()
    """In how many seconds the next is let go."""
    notes: tuple[str, ...] = ()


def let_go(view: View, now: datetime) -> LetGo:
    """Who goes now, though others that it depends on have not arrived."""
    if view.spec.drain_deadline is None:
        return LetGo()
    draining, limit = _draining(view, now), duration(view.spec.drain_deadline)
    if view.spec.paused or not view.fleet.targets:
        return LetGo(draining=draining)
    moments = _moments(view, {one.node: one.since for one in view.status.draining}, limit)
    early = frozenset(id_ for id_, at in moments.items() if at <= now)
    return LetGo(
        early,
        tuple(_exceptions(view, early, now)),
        draining,
        tuple((at - now).total_seconds() for at in moments.values() if at > now)[:1],
        tuple(_notes(draining, limit)),
    )


def with_those(
    told: tuple[OrderException, ...], fresh: tuple[OrderException, ...]
) -> tuple[OrderException, ...]:
    """Each pod once."""
    if not fresh:
        return told
    known = {(one.pod, one.workload) for one in told}
    return (*told, *(one for one in fresh if (one.pod, one.workload) not in known))[:MOST_EXCEPTIONS]


def _draining(view: View, now: datetime) -> tuple[DrainedNode, ...]:
    """Those that were written down and are drained still, and those that are new."""
    drained = view.fleet.drained_by_others
    kept = [one for one in view.status.draining if one.node in drained]
    new = sorted(drained - {one.node for one in kept})[: MOST_DRAINING - len(kept)]
    since = now.replace(microsecond=0)
    return (*kept, *(DrainedNode(node=name, since=since) for name in new))


def _moments(view: View, since: Mapping[str, datetime], limit: timedelta) -> dict[WorkloadId, datetime]:
    """When each workload that is held and has pods on drained nodes is let go, the first first."""
    if not since:
        return {}
    deepest = max(view.order.depth.values(), default=0) + 1
    found = {
        tally.id: min(times) + limit * (_WAITS + _LASTS * view.order.depth.get(tally.id, 0) / deepest)
        for tally in _held(view)
        if (times := [since[pod.node] for pod in tally.away if pod.node in since])
    }
    return dict(sorted(found.items(), key=lambda pair: (pair[1], pair[0])))


def _held(view: View) -> Iterator[Tally]:
    free = (view.order.open - {last.kept(view)}).union(placements.released(view))
    return (tally for id_, tally in view.tallies.items() if id_ not in free and not tally.skipped)


def _exceptions(view: View, early: frozenset[WorkloadId], now: datetime) -> Iterator[OrderException]:
    drained = {one.node for one in view.status.draining}
    for id_ in sorted(early):
        for pod in view.tallies[id_].away:
            if pod.node in drained:
                yield recorded(id_, pod.name, Reason.DRAIN_DEADLINE, now)


def _notes(draining: tuple[DrainedNode, ...], limit: timedelta) -> Iterator[str]:
    if not draining:
        return
    first = min(draining, key=lambda one: (one.since, one.node))
    more = f" and {len(draining) - 1} more" if len(draining) > 1 else ""
    begins, ends = first.since + limit * _WAITS, first.since + limit
    yield (
        f"node {first.node}{more} is drained by somebody else, who is said to wait until {_time(ends)}:"
        f" workloads on it that are held are let go from {_time(begins)} on"
    )


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M:%S} UTC"
