"""A seeded sample of the plans that `make crash` runs all of."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import generate, mutants, oracle
from tests.crash.lane import Lane
from tests.crash.oracle import CleanRun
from tests.crash.plans import Plan
from tests.crash.runner import Task, own_cluster, perform
from tests.crash.scenarios import BY_NAME

SCENARIOS = ("budgets", "template-chain")
PLANS, SEED = 7, 1


@pytest.fixture(scope="module")
def lane(clusters_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lane]:
    with own_cluster(f"crash-{uuid.uuid4().hex[:8]}", clusters_folder) as cluster:
        made = Lane(cluster, tmp_path_factory.mktemp("lane"))
        yield made
        made.close()


def _clean(lane: Lane, name: str) -> CleanRun:
    done = perform(lane, Task(Plan(name)))
    assert done.result.found == ()
    assert done.clean is not None
    return done.clean


@pytest.mark.crash
def test_whatever_goes_wrong_the_end_is_the_same(lane: Lane) -> None:
    for name in SCENARIOS:
        runs = [_clean(lane, name) for _ in range(2)]
        plans = generate.plans(name, [run.book for run in runs])
        clean = oracle.reference(runs)
        for plan in generate.sample(plans, PLANS, SEED):
            found = perform(lane, Task(plan, clean)).result.found
            assert not found, f"{plan}: {found}"


@pytest.mark.crash
def test_a_bug_put_in_on_purpose_is_caught(lane: Lane, tmp_path: Path) -> None:
    bug = mutants.ALL[0]
    scenario, trouble = bug.plans[0]
    clean = oracle.reference([_clean(lane, scenario)])
    lane.use(mutants.mutated(bug, tmp_path / "code"))
    found = perform(lane, Task(Plan(scenario, trouble), clean, bug)).result.found
    lane.use(None)
    assert found


def test_every_mutant_still_fits_the_code() -> None:
    mutants.check()
    assert {scenario for bug in mutants.ALL for scenario, _ in bug.plans} <= BY_NAME.keys()
