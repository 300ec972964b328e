"""Whoever waits is told by the exit code how it ended: done, given up, stalled, or out of time."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from shiplift.cli.output import CommandError, Exit, GivenUpError
from shiplift.cli.sections import Seen, done
from shiplift.cli.wait import Waiting
from shiplift.view.section import Arrival
from tests.cli.test_sections import GIVEN_UP, MOVED, NOT_YET, PARTS, Said, Told

main = importlib.import_module("shiplift.cli.main")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def seen(
    arrival: Arrival | None, stalled: str = "", *, silent: int | None = None, stale: bool = False
) -> Seen:
    section = None if arrival is None else Said("one here", arrival, stalled)
    return Seen((Told("one", PARTS["one"], section),), silent, stale)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waiting(clock: Clock) -> Waiting:
    return Waiting(timeout=600, patience=60, clock=clock)


def code_of(ends: Callable[[], object]) -> tuple[Exit, str]:
    with pytest.raises(CommandError) as caught:
        ends()
    return caught.value.code, caught.value.message


def test_it_ends_when_all_is_done(waiting: Waiting) -> None:
    assert not waiting.is_over(seen(NOT_YET))
    assert waiting.is_over(seen(MOVED))


def test_what_came_to_its_end_is_said_of_each_layer() -> None:
    both = (Told("one", PARTS["one"], Said("", MOVED)), Told("two", PARTS["two"], Said("", MOVED)))
    assert done(Seen(both, None, stale=False)) == "one is done; two is done"


@pytest.mark.parametrize("arrival", [GIVEN_UP, None])
def test_it_ends_when_it_will_not_come_to_that(waiting: Waiting, arrival: Arrival | None) -> None:
    with pytest.raises(GivenUpError) as caught:
        waiting.is_over(seen(arrival))
    assert caught.value.code is Exit.ACT


@pytest.mark.parametrize(
    ("stuck", "why"),
    [
        (seen(NOT_YET, "Deployment shop/web: no slot"), "stalled: Deployment shop/web: no slot"),
        (seen(NOT_YET, silent=20), "stalled: no operator runs"),
        (seen(NOT_YET, stale=True), "stalled: the API server does not answer"),
        (seen(MOVED, silent=20), "stalled: no operator runs"),
        (seen(MOVED)._replace(doubt="nodes run v1.37.0"), "stalled: nodes run v1.37.0"),
    ],
)
def test_it_ends_when_it_is_stalled_for_longer_than_patience(
    waiting: Waiting, clock: Clock, stuck: Seen, why: str
) -> None:
    assert not waiting.is_over(stuck)
    clock.now += 59
    assert not waiting.is_over(stuck)
    clock.now += 1
    assert code_of(lambda: waiting.is_over(stuck)) == (Exit.STALLED, why)


def test_patience_begins_anew_when_somebody_has_helped(waiting: Waiting, clock: Clock) -> None:
    for _ in range(5):
        assert not waiting.is_over(seen(NOT_YET, "no slot"))
        clock.now += 50
        assert not waiting.is_over(seen(NOT_YET))


def test_it_ends_when_its_time_is_over(waiting: Waiting, clock: Clock) -> None:
    assert not waiting.is_over(seen(NOT_YET))
    clock.now += 600
    assert code_of(lambda: waiting.is_over(seen(NOT_YET))) == (Exit.TIMEOUT, "not done in 600 s")


def test_an_exit_code_of_its_own_for_each_end() -> None:
    assert (Exit.FINE, Exit.ACT, Exit.STALLED, Exit.TIMEOUT) == (0, 1, 3, 124)


@pytest.mark.parametrize("option", ["--timeout", "--patience"])
def test_what_is_no_time_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["wait", option, "soon"]) == Exit.UNEXPECTED
    assert capsys.readouterr().err == (
        f"error: {option} 'soon' is no time\nhint: for example 90s, 15m or 1h30m\n"
    )


@pytest.mark.parametrize(
    "words", [("--tomeout", "5m"), ("--kubeconfig", "/nowhere/kubeconfig"), ("--timeout", "5")]
)
def test_an_error_of_its_own_is_not_taken_for_an_abort(words: tuple[str, ...]) -> None:
    assert main.run(["wait", *words]) == Exit.UNEXPECTED


def test_its_help_has_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["wait", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0 done; 1 aborted, deleted, nothing to move to, or nothing is under way; 2" in said
    assert "124 not done within --timeout" in said
