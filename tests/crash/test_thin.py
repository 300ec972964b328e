"""What is left out: only plans that another of the same campaign stands for."""

from __future__ import annotations

import msgspec

from tests.crash import generate, thin
from tests.crash.calls import Call, Sort
from tests.crash.director import Book, Entry
from tests.crash.plans import Crash, CrashPoint, Failure, Fault, Pause, Plan, Spot, Trouble, Watching
from tests.crash.workloads.scenarios import Scenario
from tests.crash.workloads.suite import SUITE

EVICT, MARK, UNMARK, TELL = (
    "create pods/eviction",
    "patch nodes [labels]",
    "patch nodes [-labels]",
    "patch status",
)
SCENARIO = Scenario("made up", (), {})
SPOTS = [
    Spot(MARK, "new-0"),
    Spot(MARK, "new-1"),
    Spot(MARK, "old-0"),
    Spot(EVICT, "shop/disk-0"),
    Spot(TELL, "cluster", 1),
    Spot(TELL, "cluster", 2),
    Spot(EVICT, "shop/database-1"),
    Spot(TELL, "cluster", 3),
    Spot(EVICT, "shop/database-0"),
    Spot(TELL, "cluster", 4),
    Spot(UNMARK, "new-0"),
    Spot(UNMARK, "new-1"),
]


def book(spots: list[Spot]) -> Book:
    entries = tuple(Entry(Call(Sort.WRITE, one.step, one.about), one, 200, 0.0) for one in spots)
    return Book(entries, {"pods": 5})


def kept(repeated: list[Spot] | None = None) -> list[Trouble]:
    books = [book(SPOTS)]
    every = generate.plans("workloads", "made up", books)
    again = [book(repeated)] if repeated else None
    return [one.trouble for one in thin.thinned(SUITE, SCENARIO, every, books, again)]


def crashes(found: list[Trouble]) -> list[Spot]:
    both = [one.at for one in found if isinstance(one, Crash)]
    assert both[::2] == both[1::2], "each with both crash points"
    assert len({(one.at, one.point) for one in found if isinstance(one, Crash)}) == 2 * len(both[::2])
    assert set(CrashPoint) == {one.point for one in found if isinstance(one, Crash)}
    return both[::2]


def test_one_write_of_each_step_class_and_phase_stands_for_the_others() -> None:
    assert crashes(kept()) == [
        Spot(MARK, "new-0"),
        Spot(MARK, "old-0"),
        Spot(EVICT, "shop/disk-0"),
        Spot(TELL, "cluster", 1),
        Spot(EVICT, "shop/database-1"),
        Spot(TELL, "cluster", 3),
        Spot(TELL, "cluster", 4),
        Spot(UNMARK, "new-0"),
    ]


def test_faults_disturbances_and_pauses_are_not_writes() -> None:
    every = [one.trouble for one in generate.plans("workloads", "made up", [book(SPOTS)])]
    assert [one for one in kept() if not isinstance(one, Crash)] == [
        one for one in every if not isinstance(one, Crash)
    ]


def test_of_a_scenario_that_repeats_another_what_both_have_is_tried_in_three_phases() -> None:
    found = kept(repeated=[Spot(MARK, "x"), Spot(TELL, "cluster")])
    tells = [one for one in crashes(found) if one.step == TELL]
    assert tells == [Spot(TELL, "cluster", 1), Spot(TELL, "cluster", 4)]
    assert {one.at.step for one in found if isinstance(one, Fault)} == {EVICT, UNMARK}
    assert {one.at.step for one in found if isinstance(one, Pause)} == {MARK, EVICT, TELL, UNMARK}
    assert not [one for one in found if isinstance(one, Watching)]


def test_what_other_layers_write_is_left_to_their_suites_but_for_one_of_each_kind_and_phase() -> None:
    """`workloads` has no right to rollouts, nor to what agents write."""
    begin, finish, report = "create noderollouts", "delete noderollouts", "agents: patch nodes [annotations]"
    spots = [
        *[Spot(begin, "one"), Spot(begin, "two"), Spot(report, "n-0"), Spot(EVICT, "shop/disk-0")],
        *[Spot(report, "n-0", 2), Spot(EVICT, "shop/web-0"), Spot(report, "n-1"), Spot(finish, "one")],
    ]
    books = [book(spots)]
    every = generate.plans("workloads", "made up", books)
    leaving = msgspec.structs.replace(SCENARIO, leaves_others=True)
    found = [one.trouble for one in thin.thinned(SUITE, leaving, every, books, None)]
    assert crashes(found) == [
        *[Spot(begin, "one"), Spot(report, "n-0"), Spot(EVICT, "shop/disk-0"), Spot(report, "n-0", 2)],
        *[Spot(EVICT, "shop/web-0"), Spot(report, "n-1"), Spot(finish, "one")],
    ]
    faults = [one for one in found if isinstance(one, Fault)]
    assert {one.at.step for one in faults if one.failure is not Failure.LOST} == {EVICT}
    assert {one.at.step for one in faults if one.failure is Failure.LOST} == {begin, finish, report, EVICT}
    assert {one.at.step for one in found if isinstance(one, Pause)} == {begin, finish, report, EVICT}

    again = [one.trouble for one in thin.thinned(SUITE, leaving, every, books, books)]
    assert {one.at.step for one in again if isinstance(one, Pause)} == {EVICT}


def test_a_phase_without_work_is_before_it() -> None:
    books = [book([Spot(MARK, "new-0"), Spot(MARK, "new-1")])]
    every = generate.plans("workloads", "made up", books)
    found = thin.thinned(SUITE, SCENARIO, every, books, None)
    assert [one for one in found if isinstance(one.trouble, Crash)] == [
        Plan("workloads", "made up", Crash(Spot(MARK, "new-0"), point)) for point in CrashPoint
    ]


def test_the_way_back_is_a_phase_of_its_own() -> None:
    there = [Spot(EVICT, "shop/disk-0"), Spot(TELL, "cluster", 1), Spot(EVICT, "shop/web-0")]
    back = [Spot(EVICT, "shop/web-0", 2), Spot(TELL, "cluster", 2), Spot(EVICT, "shop/disk-0", 2)]
    books = [book([*there, *back])]
    every = generate.plans("workloads", "made up", books)
    found = thin.thinned(SUITE, SCENARIO, every, books, books)
    assert crashes([one.trouble for one in found]) == [*there, *back]
