"""Questions to the world outside: asked on threads of their own, heard as long as the term lasts."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Hashable
from datetime import timedelta

from shiplift.engine import clock
from shiplift.engine.probes import Known, Question, Unanswered, Unknown
from shiplift.operator.probing import Probing
from tests.until import until

HOUR = timedelta(hours=1)


class Woken:
    def __init__(self) -> None:
        self.keys: queue.SimpleQueue[Hashable] = queue.SimpleQueue()
        self.probing = Probing(self.keys.put)

    def next(self) -> Hashable:
        return self.keys.get(timeout=10)


def test_an_answer_wakes_the_keys_that_wait_for_it() -> None:
    woken = Woken()
    asked = woken.probing.open(Question(name="policy", ask=lambda: 7, max_age=HOUR, keys=("a", "b")))
    assert isinstance(asked.probe.at(clock.now()), Unknown)
    asked.again()
    assert (woken.next(), woken.next()) == ("a", "b")
    found = asked.probe.at(clock.now())
    assert isinstance(found, Known)
    assert found.value == 7
    assert (asked.pending, asked.probe.failures) == (False, 0)
    woken.probing.close()


def test_a_question_without_a_period_is_asked_only_when_somebody_wants_it() -> None:
    woken, counted = Woken(), itertools.count(1)
    asked = woken.probing.open(Question(name="policy", ask=lambda: next(counted), max_age=HOUR, keys=("k",)))
    assert not asked.pending
    for expected in (1, 2):
        asked.again()
        woken.next()
        assert asked.probe.last == expected
    woken.probing.close()


def test_a_question_with_a_period_is_asked_again_and_again() -> None:
    woken, counted = Woken(), itertools.count(1)
    asked = woken.probing.open(
        Question(
            name="alerts",
            ask=lambda: next(counted),
            max_age=HOUR,
            keys=("k",),
            every=timedelta(milliseconds=10),
        )
    )
    for _ in range(3):
        woken.next()
    assert isinstance(asked.probe.last, int)
    assert asked.probe.last >= 3
    woken.probing.close()


def test_no_answer_is_told_and_counted_and_the_last_one_stays() -> None:
    woken = Woken()
    answers = iter([1, Unanswered("connection refused", timedelta(seconds=30)), ValueError("s3cret"), 2])

    def ask() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    asked = woken.probing.open(Question(name="policy", ask=ask, max_age=HOUR, keys=("k",)))
    told: list[tuple[object, str, int]] = []
    for _ in range(4):
        asked.again()
        woken.next()
        told.append((asked.probe.last, asked.probe.error, asked.probe.failures))
        if asked.probe.failures == 1:
            assert asked.probe.ended is not None
            assert asked.probe.not_before == asked.probe.ended + timedelta(seconds=30)
    assert told == [(1, "", 0), (1, "connection refused", 1), (1, "ValueError", 2), (2, "", 0)]
    assert asked.probe.not_before is None
    woken.probing.close()


def test_a_question_that_hangs_holds_up_no_other_and_is_not_heard_after_the_term() -> None:
    woken, began, released, ended = Woken(), threading.Event(), threading.Event(), threading.Event()

    def hang() -> int:
        began.set()
        released.wait(20)
        ended.set()
        return 1

    hanging = woken.probing.open(Question(name="hangs", ask=hang, max_age=HOUR, keys=("hangs",)))
    other = woken.probing.open(Question(name="other", ask=lambda: 2, max_age=HOUR, keys=("other",)))
    hanging.again()
    assert began.wait(30)
    other.again()
    assert woken.next() == "other"
    woken.probing.close()
    released.set()
    assert ended.wait(30)
    until(lambda: not hanging.pending)
    assert woken.keys.empty()
    assert hanging.probe.taken is None


def test_a_question_that_is_closed_is_asked_no_more_and_its_thread_ends() -> None:
    woken, counted = Woken(), itertools.count(1)
    asked = woken.probing.open(Question(name="gone", ask=lambda: next(counted), max_age=HOUR, keys=("k",)))
    asked.again()
    woken.next()
    asked.close()
    asked.again()
    until(lambda: "probe-gone" not in {thread.name for thread in threading.enumerate()}, 10)
    assert asked.probe.last == 1
    woken.probing.close()


def test_what_is_wanted_while_it_is_asked_is_asked_once_more_after() -> None:
    woken, began, go_on = Woken(), threading.Event(), threading.Event()
    counted = itertools.count(1)

    def ask() -> int:
        began.set()
        go_on.wait(10)
        return next(counted)

    asked = woken.probing.open(Question(name="policy", ask=ask, max_age=HOUR, keys=("k",)))
    asked.again()
    assert began.wait(10)
    asked.again()
    asked.again()
    go_on.set()
    woken.next()
    woken.next()
    assert (asked.probe.last, asked.pending) == (2, False)
    woken.probing.close()


def test_no_question_begins_after_the_term() -> None:
    woken = Woken()
    woken.probing.close()
    asked = woken.probing.open(Question(name="late", ask=lambda: 1, max_age=HOUR, keys=("k",)))
    asked.again()
    until(lambda: not [one for one in threading.enumerate() if one.name == "probe-late"])
    assert woken.keys.empty()
