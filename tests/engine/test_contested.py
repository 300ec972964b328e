"""Changes that somebody else undoes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shiplift.engine.contested import Made, Memory, lately, told, wait
from shiplift.engine.step import Step

NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Label(Step, frozen=True):
    node: str

    @property
    def key(self) -> str:
        return f"label {self.node}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return f"somebody takes the label off {self.node}"

    def describe(self) -> str:
        return self.key


class Unlabel(Label, frozen=True):
    @property
    def key(self) -> str:
        return f"unlabel {self.node}"

    @property
    def change(self) -> str:
        return ""

    @property
    def takes_back(self) -> str:
        return f"label {self.node}"


class Quiet(Label, frozen=True):
    def undone_by_others(self) -> str:
        return ""


STEP = Label("node-1")


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


def noted(*steps: Step) -> Memory:
    memory = Memory()
    for step in steps:
        memory.note(step, NOW)
    return memory


def made(times: dict[Label, int]) -> dict[str, Made]:
    return {one.change: Made(count, NOW, one.undone_by_others()) for one, count in times.items()}


@pytest.mark.parametrize(("times", "expected"), [(1, 2), (2, 4), (4, 16), (5, 30), (99, 30)])
def test_what_somebody_undoes_again_and_again_is_left_alone_ever_longer(times: int, expected: int) -> None:
    changes = {STEP.change: Made(times, NOW)}
    assert wait(changes, STEP, NOW) == seconds(expected)
    assert wait(changes, STEP, NOW + seconds(60)) == seconds(0)
    assert wait({}, STEP, NOW) == seconds(0)


def test_each_time_that_a_change_is_made_counts() -> None:
    assert noted(STEP, STEP).changes == made({STEP: 2})


def test_what_we_take_back_ourselves_is_not_contested() -> None:
    assert not noted(STEP, Unlabel("node-1")).changes


def test_a_step_that_changes_nothing_of_others_is_not_remembered() -> None:
    assert not noted(Unlabel("node-1")).changes


def test_changes_are_forgotten_by_how_their_names_begin() -> None:
    memory = noted(STEP, Label("node-2"))
    memory.forget("label node-1")
    assert set(memory.changes) == {"label node-2"}
    memory.forget()
    assert not memory.changes


def test_what_was_left_alone_for_long_is_forgotten() -> None:
    memory = noted(STEP)
    memory.note(Label("node-2"), NOW + seconds(5))
    memory.forget_old(NOW + seconds(600))
    assert set(memory.changes) == {"label node-2"}


def test_a_change_that_is_needed_again_is_told() -> None:
    changes = noted(STEP).changes
    assert list(told(changes, [STEP, Label("node-2")])) == ["somebody takes the label off node-1"]


def test_of_a_change_that_has_nothing_to_tell_there_is_no_empty_line() -> None:
    assert not list(told(noted(STEP).changes, [Quiet("node-1")]))


class Set(Label, frozen=True):
    value: str

    @property
    def change(self) -> str:
        return f"set {self.node} {self.value}"

    @property
    def takes_back(self) -> str:
        return f"set {self.node}"


def test_a_change_takes_back_the_others_that_begin_with_its_words() -> None:
    first, second = Set("node-1", "a"), Set("node-1", "b")
    other = Set("node-12", "a")
    assert noted(first, other, second).changes == made({other: 1, second: 1})
    assert noted(first, first).changes == made({first: 2})


LINE = "somebody takes the label off node-1"


@pytest.mark.parametrize(
    ("noted_", "needed", "after", "expected"),
    [
        ((STEP,), (), 1, []),
        ((STEP,), (STEP,), 1, [LINE]),
        ((STEP, STEP), (), 1, [LINE]),
        ((STEP, STEP), (STEP,), 1, [LINE]),
        ((STEP, STEP), (), 599, [LINE]),
        ((STEP, STEP), (), 600, []),
        ((STEP, STEP, Unlabel("node-1")), (), 1, []),
        ((Quiet("node-1"), Quiet("node-1")), (), 1, []),
    ],
)
def test_what_was_undone_is_told_until_it_was_left_alone_for_long(
    noted_: tuple[Step, ...], needed: tuple[Step, ...], after: float, expected: list[str]
) -> None:
    assert list(lately(noted(*noted_).changes, needed, NOW + seconds(after))) == expected
