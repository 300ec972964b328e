"""From what was seen to seconds of mixed versions, gaps and losses. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from benchmarks.quorum.probe import Log, Seen
from benchmarks.quorum.watcher import Moment

AT_MOST = {
    "mixed_s": 0.5,
    "mixed_max_s": 1.0,
    "mixed_vs_rolling": 0.1,
    "partial_recovery_s": 60.0,
    "gap_any_s": 5.0,
    "gap_worst_server_s": 20.0,
    "failed_after_retry": 0.0,
    "lost": 0.0,
    "gated_rolling_finished": 0.0,
}
PARTIAL = 5.0
"""A run in which versions were mixed for longer was partial."""


class Run(msgspec.Struct, frozen=True):
    """One swap, however it was made."""

    mixed: float
    """Seconds in which servers ran different versions."""
    recovery: float
    """From the first new server to the last."""
    gap_any: float
    """The longest time at the switch in which no write went through any server."""
    gap_worst: float
    """The same, of the server that had the longest."""
    step5_gap_worst: float
    """The longest time after the switch in which no write went through one of the servers."""
    failed: int
    stale: float
    failed_after_retry: int
    lost: int
    seconds: float

    @property
    def partial(self) -> bool:
        return self.recovery > PARTIAL


def mixed(moments: Sequence[Moment], end: float) -> float:
    until = [*(one.at for one in moments[1:]), end]
    return sum(
        after - one.at
        for one, after in zip(moments, until, strict=True)
        if "o" in one.runs and "n" in one.runs
    )


def span(moments: Sequence[Moment]) -> tuple[float, float]:
    """When the first server was new, and when all were for the first time."""
    first = next((one.at for one in moments if "n" in one.runs), 0.0)
    last = next((one.at for one in moments if one.at >= first and "o" not in one.runs), first)
    return first, last


def gap(times: Iterable[float], begin: float, end: float) -> float:
    """The longest stretch without one of these moments."""
    inside = [begin, *sorted(one for one in times if begin < one < end), end]
    return max(after - one for one, after in pairwise(inside))


def run_of(moments: Sequence[Moment], log: Log, lost: int, began: float, end: float) -> Run:
    first, last = span(moments)
    puts = [one for one in log.seen if one.verb == "PUT" and one.ok]
    servers = sorted({one.server for one in log.seen})
    settled = min(last + 30.0, _next_restart(moments, last), end)
    return Run(
        mixed=mixed(moments, end),
        recovery=last - first,
        gap_any=gap((one.at for one in puts), first - 1, settled),
        gap_worst=max(gap(_of(puts, server), first - 1, settled) for server in servers),
        step5_gap_worst=max(gap(_of(puts, server), settled, end) for server in servers),
        failed=sum(not one.ok for one in log.seen),
        stale=_stale(log.seen),
        failed_after_retry=log.failed_after_retry,
        lost=lost,
        seconds=end - began,
    )


def _next_restart(moments: Sequence[Moment], after: float) -> float:
    """When the first pod was made anew."""
    return next((one.at for one in moments if one.at > after and "-" in one.runs), float("inf"))


def _of(puts: Sequence[Seen], server: int) -> list[float]:
    return [one.at for one in puts if one.server == server]


def _stale(seen: Sequence[Seen]) -> float:
    """The longest time for which a server said that what was acknowledged is not there."""
    longest, since = 0.0, dict[int, float]()
    for one in seen:
        if one.verb != "GET":
            continue
        if one.stale:
            since.setdefault(one.server, one.at)
        elif one.ok and one.server in since:
            longest = max(longest, one.at - since.pop(one.server))
    return longest


def figures(
    in_place: Sequence[Run], provoked: Sequence[Run], rolling: Run, recreated: Run, *, gated_finished: bool
) -> dict[str, float]:
    not_partial = [one for one in in_place if not one.partial]
    clean = not_partial or list(in_place)
    partial = [*(one for one in in_place if one.partial), *provoked]
    every = [*in_place, *provoked]
    middle = statistics.median(one.mixed for one in clean)
    return {
        "mixed_s": middle,
        "mixed_max_s": max(one.mixed for one in clean),
        "mixed_vs_rolling": middle / rolling.mixed if rolling.mixed else 0.0,
        "clean_runs": len(not_partial),
        "partial_runs": len(partial),
        "partial_recovery_s": max((one.recovery for one in partial), default=0.0),
        "gap_any_s": max(one.gap_any for one in clean),
        "gap_worst_server_s": max(one.gap_worst for one in clean),
        "failed_after_retry": sum(one.failed_after_retry for one in every),
        "lost": sum(one.lost for one in (*every, rolling, recreated)),
        "gated_rolling_finished": float(gated_finished),
    }


def told_of_all(named: dict[str, Sequence[Run]]) -> dict[str, dict[str, float]]:
    """What no limit is about: by contender, the worst of its runs."""
    return {
        name: {
            "failed_total": max(one.failed for one in runs),
            "stale_read_s": max(one.stale for one in runs),
            "step5_gap_worst_s": max(one.step5_gap_worst for one in runs),
        }
        for name, runs in named.items()
        if runs
    }


def table(named: dict[str, Sequence[Run]]) -> str:
    columns = (
        "mixed_s",
        "gap_any_s",
        "gap_worst_s",
        "step5_gap_worst_s",
        "failed_total",
        "stale_read_s",
        "lost",
        "took_s",
    )
    lines = [f"{'':28}" + "".join(f"{one:>19}" for one in columns)]
    for name, runs in named.items():
        for one in runs:
            cells = (
                f"{one.mixed:.3f}",
                f"{one.gap_any:.2f}",
                f"{one.gap_worst:.2f}",
                f"{one.step5_gap_worst:.2f}",
                str(one.failed),
                f"{one.stale:.2f}",
                str(one.lost),
                f"{one.seconds:.0f}",
            )
            lines.append(f"{name:28}" + "".join(f"{cell:>19}" for cell in cells))
    return "\n".join(lines)
