"""When a definition is looked at again."""

from __future__ import annotations

from shiplift.operators.model import Checked
from shiplift.operators.observe.checks import COUNTS, COUNTS_CLEAR, COUNTS_LONGEST, Checks, Notes


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def is_old(checks: Notes[Checked]) -> bool:
    found = checks.of("ops", "boats", "a")
    assert found is not None
    return found.old


def test_what_was_compared_counts_for_a_while_and_longer_where_it_says_the_same() -> None:
    clock = Clock()
    checks = Checks(clock).definitions
    assert checks.of("ops", "boats", "a") is None
    limit = COUNTS
    for _ in range(8):
        checks.note("ops", "boats", "a", Checked(trouble="no"))
        clock.now += limit - 1
        assert not is_old(checks)
        clock.now += 2
        assert is_old(checks)
        limit = min(2 * limit, COUNTS_LONGEST)
    checks.note("ops", "boats", "a", Checked())
    clock.now += COUNTS + 1
    assert is_old(checks), "it said something else"


def test_a_change_that_nothing_speaks_against_counts_for_longer_at_once() -> None:
    clock = Clock()
    checks = Checks(clock).definitions
    checks.note("ops", "boats", "a", Checked(), COUNTS_CLEAR)
    clock.now += COUNTS_CLEAR - 1
    assert not is_old(checks)
    checks.note("ops", "boats", "a", Checked(), COUNTS_CLEAR)
    clock.now += 2 * COUNTS_CLEAR - 1
    assert not is_old(checks)
    clock.now += 2
    assert is_old(checks)


def test_another_definition_is_another_question() -> None:
    checks = Checks().definitions
    checks.note("ops", "boats", "a", Checked())
    assert checks.of("ops", "boats", "b") is None
    assert checks.of("other", "boats", "a") is None
