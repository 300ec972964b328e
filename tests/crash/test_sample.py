"""A seeded sample of the plans that `make crash` runs all of, for every layer."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash import generate, layers, mutants, oracle
from tests.crash.lane import PATIENCE as SHORTER
from tests.crash.lane import Lane
from tests.crash.oracle import CleanRun
from tests.crash.plans import Plan
from tests.crash.runner import Task, own_cluster, perform

SCENARIOS = {
    "workloads": ("budgets", "template-chain"),
    "nodes": ("rollout",),
    "pools": ("lost",),
    "upgrade": ("upgrade",),
    "policy": ("ocm",),
    "operators": ("hand-over",),
}
"""Of each layer those that a sample is taken of."""
PLANS, SEED = 4, 1
PATIENCE = 120.0
"""More than `make crash` has: the suite runs on machines that are busy with other things."""


@contextmanager
def a_lane(layer: str, folder: Path, clusters: Path) -> Generator[Lane]:
    with own_cluster(f"crash-{uuid.uuid4().hex[:8]}", clusters) as cluster:
        made = Lane(cluster, folder / "lane", layer, PATIENCE)
        yield made
        made.close()


def _clean(lane: Lane, layer: str, name: str) -> CleanRun:
    done = perform(lane, Task(Plan(layer, name)))
    assert done.result.found == ()
    assert done.clean is not None
    return done.clean


@pytest.mark.long(seconds=100)
@pytest.mark.crash
@pytest.mark.parametrize("layer", layers.ALL)
def test_whatever_goes_wrong_the_end_is_the_same_and_a_bug_is_caught(
    layer: str, tmp_path: Path, clusters_folder: Path
) -> None:
    with a_lane(layer, tmp_path, clusters_folder) as lane:
        for name in SCENARIOS[layer]:
            runs = [_clean(lane, layer, name) for _ in range(2)]
            meant = layers.scenario(layer, name).meant
            plans = generate.plans(layer, name, [run.book for run in runs], meant=meant)
            clean = oracle.reference(runs)
            for plan in generate.sample(plans, PLANS, SEED):
                found = perform(lane, Task(plan, clean)).result.found
                assert not found, f"{plan}: {found}"
        _catch_one(lane, layer, tmp_path / "code")


def _catch_one(lane: Lane, layer: str, folder: Path) -> None:
    bug = layers.suite(layer).mutants[0]
    scenario, trouble = bug.plans[0]
    clean = oracle.reference([_clean(lane, layer, scenario)])
    lane.use(mutants.mutated(bug, folder), bug)
    lane.patience = SHORTER
    assert perform(lane, Task(Plan(layer, scenario, trouble), clean, bug)).result.found


@pytest.mark.parametrize("layer", [*layers.ALL, "toy"])
def test_every_mutant_still_fits_the_code(layer: str) -> None:
    suite = layers.suite(layer)
    mutants.check(suite.mutants)
    names = [one.name for one in suite.scenarios]
    assert {scenario for bug in suite.mutants for scenario, _ in bug.plans} <= set(names)


@pytest.mark.parametrize("layer", [*layers.ALL, "toy"])
def test_scenarios_have_names_of_their_own_and_repeat_those_that_repeat_none(layer: str) -> None:
    scenarios = {one.name: one for one in layers.suite(layer).scenarios}
    assert len(scenarios) == len(layers.suite(layer).scenarios)
    assert all(not scenarios[one.repeats].repeats for one in scenarios.values() if one.repeats)


def test_a_layer_without_a_folder_is_named() -> None:
    with pytest.raises(LookupError, match="layer nothing has no folder tests/crash/nothing"):
        layers.suite("nothing")
    with pytest.raises(LookupError, match="layer workloads has no scenario 'nothing'"):
        layers.scenario("workloads", "nothing")
