"""When the journal is written down, and what gives way where there is no room for it."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.journal.model import (
    MOST_CHAPTERS,
    MOST_EACH,
    Chapter,
    Entry,
    Journal,
    Least,
    NodeStory,
    Wait,
    WorkloadStory,
)
from shiplift.journal.tale import Tale
from shiplift.journal.writing import fitting, read, written
from tests.journal.desk import START, Desk
from tests.model.world import NEW


def workload(number: int, waits: int = 2) -> WorkloadStory:
    wait = Wait(start=START, end=START, reason="Held", cause="c" * 200)
    least = Least(ready=1, of=2, at=START)
    return WorkloadStory(name=f"Deployment shop/{number}", least=least, moves=1, waits=(wait,) * waits)


def chapter(number: int = 0, **given: object) -> Chapter:
    start = START + timedelta(hours=number)
    return msgspec.structs.replace(Chapter(about="UpgradeConfig cluster", target=NEW, start=start), **given)


def test_a_beginning_is_written_at_once_news_after_a_while_and_silence_every_minute() -> None:
    desk = Desk()
    desk.node("a")
    desk.upgrade()
    desk.look()
    assert desk.shelf.writes == 1
    desk.node("a", unschedulable=True)
    desk.later(1)
    desk.look()
    assert desk.shelf.writes == 1
    desk.later(5)
    desk.look()
    assert desk.shelf.writes == 2
    assert desk.stored().chapters[0].seen == desk.now
    desk.later(30)
    desk.look()
    assert desk.shelf.writes == 2
    desk.later(31)
    desk.look()
    assert desk.shelf.writes == 3
    assert desk.stored().chapters[0].seen == desk.now


def test_an_end_is_written_at_once_and_nothing_afterwards() -> None:
    desk = Desk()
    desk.upgrade()
    desk.look()
    desk.upgrade(runs=False)
    desk.look()
    assert desk.shelf.writes == 2
    for _ in range(5):
        desk.later(60)
        _, decision = desk.look()
        assert decision.look_again_after is None
    assert desk.shelf.writes == 2


def test_a_journal_that_cannot_be_read_is_begun_anew_and_says_so() -> None:
    desk = Desk()
    desk.shelf.text = "{"
    desk.lead()
    desk.upgrade()
    desk.look()
    assert desk.stored().damaged
    assert len(desk.stored().chapters) == 1


def test_old_chapters_give_way_first_and_are_counted() -> None:
    many = Journal(chapters=tuple(chapter(number) for number in range(MOST_CHAPTERS + 3)))
    kept = fitting(many)
    assert (len(kept.chapters), kept.forgotten) == (MOST_CHAPTERS, 3)
    assert kept.chapters == many.chapters[:MOST_CHAPTERS]


def test_waits_give_way_before_workloads_do() -> None:
    full = Journal(chapters=(chapter(workloads=tuple(map(workload, range(500)))),))
    kept = fitting(full, most=len(written(full)) // 2)
    assert len(written(kept)) <= len(written(full)) // 2
    assert [one.least for one in kept.chapters[0].workloads] == [
        one.least for one in full.chapters[0].workloads
    ]
    assert sum(one.more for one in kept.chapters[0].workloads) > 0
    assert kept.chapters[0].left_out == {}


def test_what_there_is_no_room_for_at_all_is_counted() -> None:
    full = Journal(chapters=(chapter(workloads=tuple(workload(n, 0) for n in range(500))),))
    kept = fitting(full, most=10_000)
    assert len(written(kept)) <= 10_000
    assert len(kept.chapters[0].workloads) + kept.chapters[0].left_out["workloads"] == 500


@given(st.integers(0, 12), st.integers(0, 60), st.integers(0, 60), st.integers(300, 60_000))
def test_whatever_is_in_it_a_journal_fits_and_can_be_read(
    chapters: int, workloads: int, nodes: int, most: int
) -> None:
    entries = (Entry(at=START, text="e" * 100),) * 3
    held = chapter(
        workloads=tuple(map(workload, range(workloads))),
        nodes=tuple(NodeStory(name=f"n{number}", entries=entries) for number in range(nodes)),
    )
    kept = fitting(Journal(chapters=(held,) * chapters), most)
    assert read(written(kept)) == kept
    assert len(written(kept)) <= max(most, 400)
    assert kept.forgotten + len(kept.chapters) == chapters


@pytest.mark.parametrize("many", [MOST_EACH, MOST_EACH * 3])
def test_of_what_happens_too_often_the_first_and_the_last_are_kept(many: int) -> None:
    tale = Tale()
    for number in range(many):
        tale.tell(at(number), f"{number}")
    assert len(tale.entries) == MOST_EACH
    assert (tale.entries[0].text, tale.entries[-1].text) == ("0", f"{many - 1}")
    assert tale.more == many - MOST_EACH


def test_the_same_is_not_told_twice_in_a_row_and_what_waits_for_a_moment_has_not_waited() -> None:
    tale = Tale()
    tale.tell(at(0), "x")
    tale.tell(at(1), "x")
    tale.waits_for(at(1), "Held")
    tale.goes_on(at(1))
    assert (len(tale.entries), tale.waits) == (1, ())


def test_another_reason_is_another_wait_and_another_cause_is_not() -> None:
    tale = Tale()
    tale.waits_for(at(0), "Held", "waits for api 0/4")
    tale.waits_for(at(5), "Held", "waits for api 2/4")
    tale.waits_for(at(9), "Blocked", "no room")
    tale.goes_on(at(20))
    assert [(one.reason, one.cause, one.start, one.end) for one in tale.waits] == [
        ("Held", "waits for api 2/4", at(0), at(9)),
        ("Blocked", "no room", at(9), at(20)),
    ]


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)
