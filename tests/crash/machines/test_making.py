"""Every command of a clean run is interrupted on both sides; what is left out has another to stand for it."""

from __future__ import annotations

from pathlib import Path

from tests.crash import mutants as bugs
from tests.crash import plans
from tests.crash.calls import Call, Sort
from tests.crash.director import Book, Entry
from tests.crash.machines import making, mutants, scenarios
from tests.crash.machines.scenarios import INIT, JOIN, Scenario
from tests.crash.plans import Crash, CrashPoint, Cut, How, Pause, Plan, Restart, Spot, Unsent

INITIAL = (
    "claim",
    *(f"{op} {what}" for what in ("agent", "software", "restart") for op in ("record", "begin")),
)
BEGIN = ("record init", "begin init", "record network", "begin network")
ENTER = ("record join", "ask admit", "begin join")


def entry(step: str, about: str) -> Entry:
    return Entry(Call(Sort.WRITE, step, about, outside="machines"), Spot(step, about), 200, 0.0)


def book(scenario: Scenario) -> Book:
    found = [entry(step, name) for name in scenario.fresh for step in INITIAL]
    found += [entry(step, "cp-1") for step in BEGIN if not scenario.before]
    joining = [name for name in scenario.fresh if scenario.before or name != "cp-1"]
    return Book((*found, *(entry(step, name) for name in joining for step in ENTER)))


def made(scenario: Scenario) -> tuple[list[Plan], list[Plan]]:
    every = making.plans(scenario, [book(scenario)] * 3)
    return every, making.thinned(scenario, every)


def test_every_command_of_a_new_cluster_is_interrupted_on_both_sides() -> None:
    troubles = [one.trouble for one in made(INIT)[1]]
    spots = [one.spot for one in book(INIT).writes]
    assert [one.at for one in troubles if isinstance(one, Unsent)] == spots
    assert [one.at for one in troubles if isinstance(one, Crash)] == spots
    assert {one.point for one in troubles if isinstance(one, Crash)} == {CrashPoint.BEFORE_REPLY}


def test_every_kind_of_command_is_cut_and_somebody_is_stopped_at_it() -> None:
    troubles = [one.trouble for one in made(INIT)[1]]
    kinds = {spot.step for spot in (one.spot for one in book(INIT).writes)}
    for how in (How.REQUEST, How.ANSWER):
        assert {one.at.step for one in troubles if isinstance(one, Cut) and one.how is how} == kinds | {
            "facts"
        }
    stalled = {one.at.step for one in troubles if isinstance(one, Cut) and one.how is How.STALLED}
    assert {"begin init", "begin join", "ask admit", "facts", "claim"} <= stalled
    assert [one.at.step for one in troubles if isinstance(one, Pause)] == list(
        dict.fromkeys(one.spot.step for one in book(INIT).writes)
    )
    assert Restart(Spot("begin init", "cp-1")) in troubles
    assert Restart(Spot("begin software", "w-1")) in troubles


def test_a_cluster_that_grows_repeats_only_what_is_its_own() -> None:
    every, kept = made(JOIN)
    troubles = [one.trouble for one in kept]
    assert set(kept) < set(every)
    crashed = [one.at for one in troubles if isinstance(one, Crash)]
    assert {spot.about for spot in crashed if spot.step not in ENTER} == {"cp-2"}
    assert {spot.about for spot in crashed if spot.step in ENTER} == {"cp-2", "cp-3", "w-1"}
    others = [one.at for one in troubles if isinstance(one, Pause | Restart)]
    assert {spot.step for spot in others} <= set(ENTER)
    assert Cut(Spot("facts", "cp-1"), How.REFUSED) in troubles
    assert not any(
        one.at.step == "facts" and one.at.about != "cp-1" for one in troubles if isinstance(one, Cut)
    )


def test_it_is_all_done_within_the_time_for_a_layer() -> None:
    """Two at a time, 40 seconds each."""
    assert (len(made(INIT)[1]) + len(made(JOIN)[1])) * 40 / 2 < 70 * 60


def test_plans_replay_from_files(tmp_path: Path) -> None:
    for plan in made(JOIN)[1]:
        assert plans.read(plans.write(plan, tmp_path)) == plan


def test_every_mutant_fits_the_code_and_its_plans_are_plans() -> None:
    bugs.check(mutants.ALL)
    assert len(mutants.ALL) >= 10
    every = {one.name: {str(plan.trouble) for plan in made(one)[0]} | {"clean"} for one in scenarios.ALL}
    for bug in mutants.ALL:
        assert bug.plans
        for scenario, trouble in bug.plans:
            assert str(trouble) in every[scenario], bug.name
