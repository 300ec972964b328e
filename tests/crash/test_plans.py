"""Plans are small files that mean the same when read again, and every spot of a clean run becomes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash import generate, plans
from tests.crash.calls import Call, Sort
from tests.crash.director import Book, Entry
from tests.crash.plans import (
    Crash,
    CrashPoint,
    Cut,
    Disturbance,
    Failure,
    Fault,
    How,
    Outage,
    Pause,
    Plan,
    Restart,
    Spot,
    Trouble,
    Unsent,
    Watching,
)

WRITE = Spot("patch nodes [labels]", "new-0", 1)


def entry(sort: Sort, spot: Spot, status: int = 200) -> Entry:
    return Entry(Call(sort, spot.step, spot.about), spot, status, 0.0)


BOOK = Book((entry(Sort.READ, Spot("get nodes", "new-0")), entry(Sort.WRITE, WRITE)), {"pods": 5, "nodes": 0})


@pytest.mark.parametrize(
    "trouble",
    [
        Crash(WRITE, CrashPoint.AFTER_REPLY),
        Fault(WRITE, Failure.LOST),
        Watching("pods", Disturbance.EXPIRED, 3),
        Pause(WRITE),
        Outage(WRITE, 6.0),
        Unsent(WRITE),
        Cut(WRITE, How.ANSWER),
        Restart(WRITE),
    ],
)
def test_a_file_replays(trouble: Trouble, tmp_path: Path) -> None:
    plan = Plan("workloads", "chain", trouble)
    assert plans.read(plans.write(plan, tmp_path)) == plan


def test_every_write_is_interrupted_twice_and_every_step_fails_in_every_way() -> None:
    made = [one.trouble for one in generate.plans("workloads", "chain", [BOOK, BOOK])]
    assert [one for one in made if isinstance(one, Crash)] == [Crash(WRITE, point) for point in CrashPoint]
    faults = {(one.at.step, one.failure) for one in made if isinstance(one, Fault)}
    every = {("patch nodes [labels]", failure) for failure in Failure}
    assert faults == every | {("get nodes", failure) for failure in Failure if failure is not Failure.LOST}
    watched = {(one.resource, one.disturbance, one.event) for one in made if isinstance(one, Watching)}
    assert ("pods", Disturbance.CUT, 3) in watched
    assert ("nodes", Disturbance.EXPIRED, 0) in watched
    assert len(watched) == 6
    assert [one for one in made if isinstance(one, Pause)] == [Pause(Spot("patch nodes [labels]"))]


def test_what_is_not_in_every_clean_run_is_no_plan() -> None:
    second = Book((entry(Sort.WRITE, Spot("patch nodes [labels]", "new-1")),), {"pods": 1})
    assert not generate.writes([BOOK, second])
    assert not generate.writes([Book((entry(Sort.WRITE, WRITE, 409),))])


def test_a_sample_is_the_same_for_the_same_seed_and_has_every_kind_of_trouble() -> None:
    every = generate.plans("workloads", "chain", [BOOK])
    chosen = generate.sample(every, 8, seed=3)
    assert chosen == generate.sample(every, 8, seed=3)
    assert {type(one.trouble) for one in chosen} == {Crash, Fault, Watching, Pause}


def test_an_outage_is_planned_where_a_scenario_has_one() -> None:
    made = generate.plans("nodes", "rollout", [BOOK], (WRITE,))
    assert [one.trouble for one in made if isinstance(one.trouble, Outage)] == [
        Outage(WRITE, generate.OUTAGE)
    ]
    assert not [one for one in generate.plans("nodes", "rollout", [BOOK]) if isinstance(one.trouble, Outage)]


def test_trouble_that_ends_otherwise_by_design_is_in_no_plan() -> None:
    meant = Fault(Spot("patch nodes [labels]"), Failure.CONFLICT)
    every = generate.plans("nodes", "rollout", [BOOK])
    assert [one for one in every if one.trouble != meant] == generate.plans(
        "nodes", "rollout", [BOOK], meant=(meant,)
    )
    assert Plan("nodes", "rollout", meant) in every
