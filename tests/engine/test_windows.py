from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.engine.windows import Window, WindowError, Windows
from tests.examples import tries

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
NIGHTLY = Window("0 2 * * *", 4 * HOUR)


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(text, zone, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


@pytest.mark.parametrize(
    ("now", "is_open", "closes", "opens"),
    [
        ("2026-01-10T01:59:59", False, None, "2026-01-10T02:00"),
        ("2026-01-10T02:00:00", True, "2026-01-10T06:00", "2026-01-10T02:00"),
        ("2026-01-10T02:00:00.5", True, "2026-01-10T06:00", "2026-01-10T02:00:00.5"),
        ("2026-01-10T05:59:59", True, "2026-01-10T06:00", "2026-01-10T05:59:59"),
        ("2026-01-10T06:00:00", False, None, "2026-01-11T02:00"),
        ("2026-01-10T23:00:00", False, None, "2026-01-11T02:00"),
    ],
)
def test_a_window_includes_its_start_and_not_its_end(now, is_open, closes, opens):
    windows = Windows((NIGHTLY,))
    assert windows.open_at(utc(now)) is is_open
    assert windows.closes_at(utc(now)) == (None if closes is None else utc(closes))
    assert windows.next_open(utc(now)) == utc(opens)


def test_no_windows_means_always_open():
    now = utc("2026-01-10T12:00")
    assert Windows().open_at(now)
    assert Windows().closes_at(now) is None
    assert Windows().next_open(now) == now
    assert Windows().fits(now, timedelta(days=400))
    assert Windows().next_fit(now, timedelta(days=400)) == now
    Windows().refuse_shorter_than(timedelta(days=400))


def test_a_window_may_run_past_midnight_and_into_the_next_month():
    windows = Windows((Window("0 22 31 * *", 6 * HOUR),))
    assert windows.open_at(utc("2026-02-01T03:59"))
    assert windows.next_open(utc("2026-02-01T04:00")) == utc("2026-03-31T22:00")


def test_a_window_is_on_the_wall_clock_of_its_zone():
    windows = Windows((Window("0 2 * * *", HOUR, "Asia/Kolkata"),))
    assert windows.open_at(local("2026-01-10T02:30", "Asia/Kolkata"))
    assert windows.open_at(utc("2026-01-09T21:00"))
    assert not windows.open_at(utc("2026-01-10T02:30"))


def test_now_may_be_given_in_any_zone():
    now = local("2026-01-10T03:30", "Europe/Madrid")
    assert Windows((NIGHTLY,)).next_open(now) == now
    assert Windows((NIGHTLY,)).closes_at(now) == utc("2026-01-10T06:00")


# Madrid: on 2026-03-29 the clocks go from 02:00 to 03:00, on 2026-10-25 from 03:00 back to 02:00.


def test_a_start_that_the_clocks_skip_opens_at_the_moment_they_skip_to():
    windows = Windows((Window("30 2 * * *", 4 * HOUR, "Europe/Madrid"),))
    before = local("2026-03-29T01:59:59", "Europe/Madrid")
    assert not windows.open_at(before)
    assert windows.next_open(before) == utc("2026-03-29T01:00")
    assert windows.closes_at(utc("2026-03-29T01:00")) == utc("2026-03-29T05:00")
    assert windows.next_open(utc("2026-03-29T05:00")) == local("2026-03-30T02:30", "Europe/Madrid")


def test_a_start_that_the_clocks_show_twice_opens_the_first_time_only():
    windows = Windows((Window("30 2 * * *", 30 * MINUTE, "Europe/Madrid"),))
    first = local("2026-10-25T02:30", "Europe/Madrid", fold=0)
    second = local("2026-10-25T02:30", "Europe/Madrid", fold=1)
    assert windows.open_at(first)
    assert not windows.open_at(second)
    assert windows.next_open(second) == local("2026-10-26T02:30", "Europe/Madrid")


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25", "2026-07-01"])
def test_four_hours_are_four_hours_whatever_the_clocks_do(day):
    windows = Windows((Window("0 1 * * *", 4 * HOUR, "Europe/Madrid"),))
    start = local(f"{day}T01:00", "Europe/Madrid")
    end = windows.closes_at(start)
    assert end is not None
    assert end.astimezone(UTC) - start.astimezone(UTC) == 4 * HOUR


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_an_hourly_window_has_no_hole_when_the_clocks_change(day):
    windows = Windows((Window("0 * * * *", HOUR, "Europe/Madrid"),))
    midnight = local(f"{day}T00:00", "Europe/Madrid").astimezone(UTC)
    assert all(windows.open_at(midnight + minutes * MINUTE) for minutes in range(0, 300, 7))
    assert windows.closes_at(midnight) is None


def test_an_hourly_window_opens_in_both_hours_that_the_clocks_show():
    windows = Windows((Window("15 * * * *", 30 * MINUTE, "Europe/Madrid"),))
    for fold in (0, 1):
        assert windows.open_at(local("2026-10-25T02:20", "Europe/Madrid", fold=fold))
    assert not windows.open_at(local("2026-03-29T03:05", "Europe/Madrid"))


def test_a_day_that_a_zone_left_out_opens_when_the_next_one_begins():
    windows = Windows((Window("0 12 30 12 *", HOUR, "Pacific/Apia"),))
    assert windows.next_open(utc("2011-12-30T00:00")) == utc("2011-12-30T10:00")


def test_windows_that_overlap_or_touch_are_one():
    windows = Windows(
        (Window("0 2 * * *", 2 * HOUR), Window("0 3 * * *", 3 * HOUR), Window("0 6 * * *", HOUR))
    )
    assert windows.closes_at(utc("2026-01-10T02:00")) == utc("2026-01-10T07:00")
    assert windows.fits(utc("2026-01-10T02:00"), 5 * HOUR)


def test_a_window_longer_than_its_period_never_closes():
    windows = Windows((Window("0 0 * * *", 25 * HOUR),))
    now = utc("2026-01-10T00:30")
    assert windows.closes_at(now) is None
    assert windows.fits(now, timedelta(days=30))


def test_something_fits_up_to_the_very_end():
    windows = Windows((NIGHTLY,))
    now = utc("2026-01-10T05:00")
    assert windows.fits(now, HOUR)
    assert not windows.fits(now, HOUR + timedelta(seconds=1))
    assert not windows.fits(utc("2026-01-10T07:00"), MINUTE)


def test_what_does_not_fit_any_more_waits_for_the_next_window():
    windows = Windows((NIGHTLY,))
    assert windows.next_fit(utc("2026-01-10T05:30"), HOUR) == utc("2026-01-11T02:00")
    assert windows.next_fit(utc("2026-01-10T04:30"), HOUR) == utc("2026-01-10T04:30")


def test_what_fits_only_the_longer_of_two_windows_waits_for_that_one():
    windows = Windows((NIGHTLY, Window("0 2 * * SAT", 10 * HOUR)))
    assert windows.next_fit(utc("2026-01-11T00:00"), 8 * HOUR) == utc("2026-01-17T02:00")


def test_what_fits_no_window_is_said_so():
    assert Windows((NIGHTLY,)).next_fit(utc("2026-01-10T00:00"), 5 * HOUR) is None


def test_a_window_shorter_than_what_is_expected_is_refused_by_name():
    windows = Windows((Window("0 2 * * SAT", 10 * HOUR), NIGHTLY))
    windows.refuse_shorter_than(4 * HOUR)
    with pytest.raises(
        WindowError, match=r"'0 2 \* \* \*' for 4h in UTC is shorter than the 5h that"
    ) as refused:
        windows.refuse_shorter_than(5 * HOUR)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("", "not five"),
        ("0 2 * *", "not five"),
        ("0 0 2 * * *", "not five"),
        ("0 25 * * *", "bad hour"),
        ("61 2 * * *", "bad minute"),
        ("x 2 * * *", "bad minute"),
        ("0 2 30 2 *", "bad day-of-month"),
        ("0 2 * * MON#6", "bad day-of-week"),
        ("*/0 2 * * *", "bad minute"),
        ("0 2 * * " + "1," * 200 + "1", "not five"),
        ("@daily", "not five"),
    ],
)
def test_an_unreadable_expression_is_refused_by_name(cron, said):
    with pytest.raises(WindowError, match=said) as refused:
        Window(cron, HOUR)
    assert repr(cron[:80]) in str(refused.value)


def test_an_expression_that_never_comes_is_refused():
    with pytest.raises(WindowError, match=r"never opens|bad day"):
        Window("0 2 31 4 *", HOUR)


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../etc/passwd", "/etc/passwd", "x" * 500, "UTC\0"])
def test_an_unknown_zone_is_refused_by_name(zone):
    with pytest.raises(WindowError, match="time zone") as refused:
        Window("0 2 * * *", HOUR, zone)
    assert repr(zone[:80]) in str(refused.value)


@pytest.mark.parametrize("duration", [timedelta(0), -HOUR, MINUTE])
def test_a_window_that_hardly_opens_is_refused(duration):
    with pytest.raises(WindowError, match="lasts"):
        Window("0 2 * * *", duration)


# Against brute force, minute by minute, in zones with every kind of clock change: half hours (Lord Howe), at
# midnight (Beirut, Asuncion), Ramadan (Casablanca), a whole day left out (Apia), odd offsets, none at all.

ZONES = [
    "UTC", "Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "America/Asuncion",
    "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu", "America/St_Johns", "Europe/Dublin",
    "America/Havana", "Pacific/Chatham", "Africa/Cairo", "Atlantic/Azores",
]  # fmt: skip
CHANGES = [
    "2011-09-24T14:00", "2011-12-30T10:00", "2018-08-12T03:00", "2024-04-25T22:00", "2025-03-08T00:00",
    "2026-02-15T02:00", "2026-03-22T03:00", "2026-03-08T07:00", "2026-03-29T01:00", "2026-04-04T15:00",
    "2026-10-03T15:30", "2026-10-25T01:00", "2026-11-01T05:30", "2026-07-01T00:00",
]  # fmt: skip
CRONS = [
    "0 2 * * *", "30 2 * * *", "0 0 * * *", "15 1,2,3 * * *", "0 * * * *", "*/20 * * * *", "45 */2 * * *",
    "10 23 * * *", "0 0 * * SUN", "59 2 * * *", "30 1 * * SAT,SUN",
]  # fmt: skip


def wall_starts(cron, begin, end):
    walk = CronSim(cron, begin)
    return list(takewhile(lambda wall: wall <= end, walk))


def starts_by_brute_force(window, begin, end):
    """Every start from a day before `begin` on: somebody looks at the clock on the wall each minute."""
    zone, moment, starts, latest = ZoneInfo(window.zone), begin - timedelta(days=2), [], None
    real_time = any(field.startswith("*") for field in window.cron.split()[:2])
    first, last = (edge.replace(tzinfo=None) for edge in (begin - timedelta(days=4), end + timedelta(days=2)))
    planned = wall_starts(window.cron, first, last)
    while moment < end:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        due = bisect_right(planned, wall)
        if real_time and due and planned[due - 1] == wall:
            starts.append(moment)
        if not real_time and (latest is None or wall > latest):
            if latest is not None and due > bisect_right(planned, latest):
                starts.append(moment)
            latest = wall
        moment += MINUTE
    return [start for start in starts if start >= begin - timedelta(days=1)]


@settings(max_examples=tries(60))
@given(
    st.sampled_from(ZONES),
    st.sampled_from(CHANGES),
    st.sampled_from(CRONS),
    st.integers(-600, 600),
)
def test_starts_agree_with_a_look_at_the_clock_every_minute(zone, change, cron, shift):
    window = Window(cron, HOUR, zone)
    now = utc(change) + shift * MINUTE
    starts = starts_by_brute_force(window, now, now + timedelta(days=1, hours=12))
    past = [start for start in starts if start <= now]
    future = [start for start in starts if start > now]
    if past:
        assert window.last_start(now) == past[-1]
    if future:
        assert window.next_start(now) == future[0]


crons = st.builds(
    "{} {} * * {}".format,
    st.sampled_from(["0", "30", "*/15", "5,50"]),
    st.sampled_from(["*", "2", "0", "23", "1-3", "*/6"]),
    st.sampled_from(["*", "SUN", "MON-FRI"]),
)
windows_ = st.builds(
    Window, crons, st.integers(5, 3000).map(lambda minutes: minutes * MINUTE), st.sampled_from(ZONES)
)
moments = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


@settings(max_examples=tries(60))
@given(windows_, moments)
def test_starts_found_backwards_and_forwards_are_the_same(window, now):
    last = window.last_start(now)
    following = window.next_start(now)
    assert last is not None
    assert following is not None
    assert last <= now < following
    assert window.next_start(last - timedelta(seconds=1)) == last
    assert window.last_start(following) == following
    assert window.next_start(last) == following
    assert window.last_start(following - timedelta(seconds=1)) == last


@settings(max_examples=tries(40))
@given(st.lists(windows_, min_size=1, max_size=3), moments, st.integers(1, 600))
def test_the_answers_agree_with_each_other(several, now, minutes):
    windows, duration = Windows(tuple(several)), minutes * MINUTE
    opens = windows.next_open(now)
    assert opens is not None
    assert opens >= now
    assert windows.open_at(opens)
    assert windows.open_at(now) == (opens == now)
    end = windows.closes_at(opens)
    if end is not None:
        assert windows.open_at(end - timedelta(seconds=1))
        assert not windows.open_at(end)
        assert windows.fits(opens, end - opens)
        assert not windows.fits(opens, end - opens + timedelta(seconds=1))
    fit = windows.next_fit(now, duration)
    if fit is not None:
        assert windows.fits(fit, duration)
        assert fit == now or not windows.fits(now, duration)
