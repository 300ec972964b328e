"""What who acts notes for who observes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shiplift.kube.kept import Kept
from shiplift.nodes.memory import Jobs, Leases, Noticing, Watched
from shiplift.nodes.model import Hooked, HookState, LeaseSeen
from shiplift.nodes.names import NOTICED_WITHIN


@pytest.mark.parametrize(
    ("readings", "seen"),
    [
        (["12:00"], LeaseSeen(1, False)),
        (["12:00", "12:00"], LeaseSeen(2, False)),
        (["12:00", "12:10"], LeaseSeen(2, True)),
        (["12:00", "12:10", "12:10"], LeaseSeen(3, True)),
        (["", ""], LeaseSeen(2, False)),
        (["12:00", ""], LeaseSeen(2, False)),
        (["", "12:00"], LeaseSeen(2, True)),
    ],
)
def test_a_lease_advances_when_another_time_stands_there(readings: list[str], seen: LeaseSeen) -> None:
    leases = Leases()
    for attempt, renewed in enumerate(readings):
        leases.note("u", attempt, renewed)
    assert leases.seen({"u"}) == {"u": seen}


def test_a_lease_that_is_renewed_while_it_is_looked_at_advances() -> None:
    leases = Leases()
    assert not leases.note("u", 0, "12:00")
    leases.note_again("u", "12:01")
    assert leases.seen({"u"}) == {"u": LeaseSeen(1, True)}
    assert leases.note("u", 1, "12:01")
    leases.note_again("nobody", "12:01")
    assert leases.seen({"u", "nobody"}) == {"u": LeaseSeen(2, True)}


def test_the_first_look_begins_anew() -> None:
    leases = Leases()
    for attempt, renewed in ((0, "12:00"), (1, "12:10"), (0, "12:20")):
        leases.note("u", attempt, renewed)
    assert leases.seen({"u"}) == {"u": LeaseSeen(1, False)}


def test_readings_of_nodes_that_nobody_asks_about_are_forgotten() -> None:
    leases = Leases()
    leases.note("u", 0, "12:00")
    assert leases.seen(()) == {}
    assert leases.seen({"u"}) == {}


NAME = ("ops", "pre")


def test_a_job_that_is_not_known_is_not_read() -> None:
    assert Jobs().look(lambda _: pytest.fail("nobody asked for it")) == {}


def test_a_job_that_was_forgotten_while_it_was_read_stays_forgotten() -> None:
    jobs = Jobs(lambda: 0.0)
    jobs.note(NAME)

    def read(name: tuple[str, str]) -> Hooked:
        jobs.forget(name)
        return Hooked(*name, "u", 1, HookState.RUNNING)

    assert jobs.look(read) == {}


def test_an_answer_is_kept_for_a_while_and_asked_for_again_when_it_is_void() -> None:
    now, answers = [0.0], iter(("one", "two", "three"))
    kept = Kept(lambda: next(answers), 5.0, lambda: now[0])
    assert (kept.get(), kept.get()) == ("one", "one")
    now[0] = 5.0
    assert kept.get() == "two"
    kept.void()
    assert kept.get() == "three"


def test_a_clock_that_is_set_forward_makes_nothing_take_longer() -> None:
    passed = 0.0
    watched = Watched(lambda: passed)
    start = datetime(2026, 5, 4, 9, tzinfo=UTC)
    states = [("u", "Draining")]
    assert watched.look(states, start) == {"u": start}
    passed = 10.0
    assert watched.look(states, start + timedelta(seconds=10)) == {"u": start}
    passed = 20.0
    later = start + timedelta(hours=1, seconds=20)
    assert watched.is_past(later)
    assert watched.look(states, later) == {"u": later - timedelta(seconds=20)}
    assert not watched.is_past(later)
    passed = 21.0
    assert watched.look(states, later + timedelta(seconds=1)) == {"u": later - timedelta(seconds=20)}


class Cordons:
    """Looks at cordons, each some seconds after the last one."""

    def __init__(self) -> None:
        self.passed, self.now = 0.0, datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
        self.noticing = Noticing(lambda: self.passed)

    def look(self, seconds: float = 0.0, **cordoned: bool) -> dict[str, float | None]:
        """For how many more seconds each is waited for."""
        self.passed += seconds
        found = self.noticing.look(cordoned, self.now)
        return {uid: (at - self.now).total_seconds() if at else None for uid, at in found.items()}


def test_a_cordon_is_waited_for_until_it_is_noticed() -> None:
    cordons = Cordons()
    assert cordons.look(a=False) == {"a": NOTICED_WITHIN}
    assert cordons.look(5, a=False, b=False) == {"a": NOTICED_WITHIN - 5, "b": NOTICED_WITHIN}
    assert cordons.look(5, a=True, b=False) == {"b": NOTICED_WITHIN - 5}
    assert cordons.look(5, b=True) == {}


def test_who_waited_in_vain_for_one_cordon_waits_for_none_until_one_is_noticed() -> None:
    cordons = Cordons()
    cordons.look(a=False)
    assert cordons.look(NOTICED_WITHIN, a=False) == {"a": None}
    assert cordons.look(1, b=False) == {"b": None}
    assert cordons.look(1, b=True, c=False) == {"c": NOTICED_WITHIN}


def test_a_time_of_day_that_is_set_makes_no_wait_for_controllers_longer() -> None:
    cordons = Cordons()
    cordons.look(a=False)
    cordons.now -= timedelta(hours=1)
    assert cordons.look(10, a=False) == {"a": NOTICED_WITHIN - 10}
