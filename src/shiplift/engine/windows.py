"""Maintenance windows: when they are open, for how long still, and when they open next.

A window starts by a cron expression on the wall clock of its time zone and lasts a duration of real time:
- a start that the clocks skip in spring opens at the moment they have skipped to;
- a start that the clocks show twice in autumn opens the first time;
- an expression that runs through the hours (`*` in its minute or hour field) follows real time instead:
  starts that the clocks skip are left out, those that they show twice open twice;
- four hours are four hours, also across a change of the clocks;
- windows that overlap or touch are one; no windows at all means always open.
A window includes its start and not its end. Nothing here knows the time: `now` is an argument, and aware.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from shiplift.engine.durations import as_written

SHORTEST = timedelta(minutes=5)
HORIZON = timedelta(days=8)
"""A run of windows that goes on for longer than this counts as one that does not close."""
NEAR = timedelta(hours=26)
"""No zone has ever set its clocks by more."""
MOST_RUNS = 400
ANY_DAY = datetime(2024, 1, 1)


class WindowError(ValueError):
    """A window that cannot be used; names the value."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Window(msgspec.Struct, frozen=True):
    """Opens by `cron` in `zone`, stays open for `duration`."""

    cron: str
    duration: timedelta
    zone: str = "UTC"

    def __post_init__(self) -> None:
        _check_cron(self.cron)
        _zone(self.zone)
        if self.duration < SHORTEST:
            raise WindowError(
                f"window {self.cron!r} lasts {as_written(self.duration)}",
                f"let it last at least {as_written(SHORTEST)}",
            )

    def last_start(self, now: datetime) -> datetime | None:
        """The latest start at or before `now`."""
        zone = _zone(self.zone)
        local = _local(now, zone) + _margin(now, zone)
        best: datetime | None = None
        # one second on, because the cron walk leaves out the moment it starts from
        for wall in _walk(self.cron, local + timedelta(seconds=1), back=True):
            starts = self._starts(wall, zone)
            past = [start for start in starts if start <= now]
            best = max([*past, best] if best else past, default=None)
            if best is not None and starts and starts[-1] <= best:
                return best
        return best

    def next_start(self, now: datetime) -> datetime | None:
        """The earliest start after `now`."""
        zone = _zone(self.zone)
        best: datetime | None = None
        for wall in _walk(self.cron, _local(now, zone) - _margin(now, zone), back=False):
            starts = self._starts(wall, zone)
            if best is not None and starts and starts[0] >= best:
                return best
            future = [start for start in starts if start > now]
            best = min([*future, best] if best else future, default=None)
            if best is not None and best == starts[0]:
                return best
        return best

    def _starts(self, wall: datetime, zone: ZoneInfo) -> list[datetime]:
        """The moments at which the wall clock of the zone calls for this start, earliest first."""
        first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first == second:
            return [first]
        if first < second:
            return [first, second] if self._follows_real_time() else [first]
        return [] if self._follows_real_time() else [_change_between(second, first, zone)]

    def _follows_real_time(self) -> bool:
        minute, hour, *_ = self.cron.split()
        return minute.startswith("*") or hour.startswith("*")

    def __str__(self) -> str:
        return f"{self.cron!r} for {as_written(self.duration)} in {self.zone}"


def _check_cron(cron: str) -> None:
    hint = "write minute, hour, day, month and weekday, as in '0 2 * * SAT'"
    if len(cron) > 200 or len(cron.split()) != 5:
        raise WindowError(f"window {cron[:80]!r} is not five cron fields", hint)
    try:
        next(CronSim(cron, ANY_DAY))
    except CronSimError as error:
        raise WindowError(f"window {cron!r} cannot be read: {str(error).lower()}", hint) from error
    except StopIteration:
        raise WindowError(f"window {cron!r} never opens", hint) from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise WindowError(
            f"time zone {name[:80]!r} is not known", "use a name such as Europe/Madrid"
        ) from error


def _local(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _margin(now: datetime, zone: ZoneInfo) -> timedelta:
    """How far wall clock and real time may run apart around now."""
    around = [(now + shift).astimezone(zone).utcoffset() for shift in (-NEAR, timedelta(0), NEAR)]
    offsets = [offset for offset in around if offset is not None]
    return max(offsets) - min(offsets)


def _walk(cron: str, wall: datetime, *, back: bool) -> Iterator[datetime]:
    return iter(CronSim(cron, wall.replace(microsecond=0), reverse=back))


def _change_between(early: datetime, late: datetime, zone: ZoneInfo) -> datetime:
    """The moment between two others at which the zone sets its clocks, to the second."""
    offset = early.astimezone(zone).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + timedelta(seconds=int((late - early).total_seconds()) // 2)
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late


class Windows(msgspec.Struct, frozen=True):
    """Several windows taken together."""

    windows: tuple[Window, ...] = ()

    def open_at(self, now: datetime) -> bool:
        return not self.windows or self._end_of_those_open(now) is not None

    def closes_at(self, now: datetime) -> datetime | None:
        """When the run of windows that is open now ends; None when closed, or open beyond the horizon."""
        if not self.windows:
            return None
        end = self._end_of_those_open(now)
        while end is not None and end - now <= HORIZON:
            later = self._end_of_those_open(end)
            if later is None:
                return end
            end = later
        return None

    def next_open(self, now: datetime) -> datetime | None:
        """The first moment from now on at which a window is open; None when there is none for fifty years."""
        if self.open_at(now):
            return now
        starts = [start for window in self.windows if (start := window.next_start(now)) is not None]
        return min(starts, default=None)

    def fits(self, now: datetime, duration: timedelta) -> bool:
        """Whether something that takes this long and starts now ends while still open."""
        if not self.open_at(now):
            return False
        end = self.closes_at(now)
        return end is None or now + duration <= end

    def next_fit(self, now: datetime, duration: timedelta) -> datetime | None:
        """The first moment from now on at which something that takes this long fits."""
        moment = self.next_open(now)
        for _ in range(MOST_RUNS):
            if moment is None or self.fits(moment, duration):
                return moment
            end = self.closes_at(moment)
            moment = None if end is None else self.next_open(end)
        return None

    def refuse_shorter_than(self, expected: timedelta) -> None:
        """Every window must hold what is to be done in it; said when planning, not at night."""
        for window in self.windows:
            if window.duration < expected:
                raise WindowError(
                    f"window {window} is shorter than the {as_written(expected)} that is expected",
                    f"let it last at least {as_written(expected)}",
                )

    def _end_of_those_open(self, now: datetime) -> datetime | None:
        ends = [
            start + window.duration
            for window in self.windows
            if (start := window.last_start(now)) is not None and start + window.duration > now
        ]
        return max(ends, default=None)
