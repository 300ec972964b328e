"""What who acts notes for who observes."""

from __future__ import annotations

import pytest

from shiplift.kube.kept import Kept
from shiplift.nodes.memory import Jobs, Leases
from shiplift.nodes.model import Hooked, HookState, LeaseSeen


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
