"""`make e2e`: real machines, and clusters made by `shiplift bootstrap`; one with three control planes goes to
the next minor undisturbed, then faults strike at every step of the upgrade of another.

The last line is one JSON object; the exit code is 0 when every plan ended as it should and no request failed.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import structlog

from shiplift.local import guard
from shiplift.local.machines import Machines, refusal
from tests.e2e import minor
from tests.e2e.campaign import Played, Report, campaign
from tests.e2e.doors import Doors, Ended
from tests.e2e.minor import Minor
from tests.e2e.plans import PLANS, End, Plan
from tests.machines import traffic
from tests.machines.traffic import Asked, Asking


class Time:
    """Until a moment, or until somebody ends it: the plan that runs is played to its end."""

    def __init__(self, minutes: float) -> None:
        self._begun, self._end = time.monotonic(), time.monotonic() + 60 * minutes
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, *_: object) -> None:
        self._end = 0.0

    def over(self) -> bool:
        return time.monotonic() > self._end

    @property
    def minutes(self) -> float:
        return round((time.monotonic() - self._begun) / 60, 1)


def main() -> int:
    given = _arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    plans, left = _chosen(given), Time(given.minutes)
    with tempfile.TemporaryDirectory(prefix="shiplift-e2e-") as name:
        folder = Path(name)
        if why := refusal(folder):
            _say(f"skipped: {why.message} ({why.hint})")
            return 0
        guard.own(folder)
        guard.start_once(folder)
        try:
            undisturbed = _minor(folder) if given.minor else None
            return _run(folder, plans, left, undisturbed)
        finally:
            guard.sweep(folder)
            guard.stop(folder)


def _minor(folder: Path) -> Minor:
    """The upgrade of a cluster of four machines, which are gone when this returns."""
    made = Machines("minor", folder)
    made.up(4, _say)
    (folder / "minor-rig").mkdir()
    try:
        found = minor.play(made, folder / "minor-rig")
    finally:
        made.down()
    told = "; ".join(found.wrong) or "well"
    told += f", {len(found.seen.failed)} of {found.seen.asked} requests failed"
    _say(f"from {minor.FROM} to {minor.TO} with three control planes: {found.seconds:.0f} s, {told}")
    if parts := found.overhead:
        each = f"{parts.to_cordon:.2f} to the cordon, {parts.to_order:.2f} to the order"
        _say(f"  between its nodes, s (medians): {each}, {parts.to_uncordon:.2f} to the uncordon")
    _say(f"then {found.lost.plan.name}: {found.lost.wrong or found.lost.said}")
    return found


def _run(folder: Path, plans: list[Plan], left: Time, undisturbed: Minor | None) -> int:
    made = Machines("e2e", folder)
    made.up(3, _say)
    (folder / "rig").mkdir()
    with Doors(made, folder / "rig") as rig:
        _say(f"a cluster of three machines after {left.minutes} minutes")
        for one in rig.doors:
            _say(f"  {one.name}: {f'WRONG: {one.wrong}' if one.wrong else one.end.value}")
        rig.publish_news()
        traffic.serve(rig.client)
        asking = Asking(made.depot, made.host("m3").address)
        asking.start()
        rig.start()
        played = campaign(rig, plans, asking, _say, left.over)
        seen = asking.stop()
    asked = [seen, *([undisturbed.seen] if undisturbed else [])]
    for one in [failed for each in asked for failed in each.failed][:20]:
        _say(f"a request failed: {one}")
    ended = [
        *_ends(undisturbed),
        *rig.doors,
        *map(_ended, played),
    ]
    report = _report(ended, undisturbed, asked, len(plans) - len(played), left.minutes)
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    return 1 if report.failed or report.failed_requests else 0


def _ends(undisturbed: Minor | None) -> list[Ended]:
    if undisturbed is None:
        return []
    return [Ended(minor.ROLLOUT, End.WELL, "; ".join(undisturbed.wrong)), _ended(undisturbed.lost)]


def _ended(one: Played) -> Ended:
    return Ended(one.plan.name, one.plan.end, one.wrong)


def _report(
    ended: list[Ended], undisturbed: Minor | None, asked: list[Asked], left_out: int, minutes: float
) -> Report:
    right = [one.end for one in ended if not one.wrong]
    overhead = undisturbed.overhead if undisturbed else None
    return Report(
        plans=len(ended),
        left_out=left_out,
        ended_well=right.count(End.WELL),
        ended_named=right.count(End.NAMED),
        failed=tuple(f"{one.name}: {one.wrong}" for one in ended if one.wrong),
        failed_requests=sum(len(one.failed) for one in asked),
        requests=sum(one.asked for one in asked),
        overhead_per_node_s=round(overhead.whole, 2) if overhead else None,
        minor_minutes=round(undisturbed.seconds / 60, 1) if undisturbed else None,
        minutes=minutes,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e")
    parser.add_argument("--only", default="", help="plans whose names contain this")
    parser.add_argument("--first", type=int, default=1, help="the number of the first plan")
    parser.add_argument("--minutes", type=float, default=68, help="no plan is begun after so many")
    parser.add_argument("--most", type=int, default=len(PLANS), help="at most so many plans")
    parser.add_argument(
        "--no-minor", dest="minor", action="store_false", help="leave out the upgrade to the next minor"
    )
    return parser.parse_args()


def _chosen(given: argparse.Namespace) -> list[Plan]:
    found = [one for one in PLANS[given.first - 1 :] if given.only in one.name]
    return found[: given.most]


def _say(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
