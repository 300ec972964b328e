"""One plan of those that `make crash LAYER=machines` runs all of, on machines whose sshd is real."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.crash import generate, oracle
from tests.crash.machines import making, own
from tests.crash.machines.lane import MachineLane
from tests.crash.machines.scenarios import INIT
from tests.crash.plans import Plan
from tests.crash.runner import Task, own_cluster, perform

SEED = 1
PATIENCE = 150.0
"""More than `make crash` has: the suite runs on machines that are busy with other things."""


@pytest.mark.long(seconds=40)
@pytest.mark.crash
def test_bootstrap_that_is_interrupted_comes_to_the_same_end(tmp_path: Path, clusters_folder: Path) -> None:
    if why := own.refusal():
        pytest.skip(why)
    name = f"crash-{uuid.uuid4().hex[:8]}"
    with own_cluster(name, clusters_folder, MachineLane.settings) as cluster:
        lane = MachineLane(cluster, tmp_path / "lane", making.LAYER, PATIENCE)
        try:
            clean = perform(lane, Task(Plan(making.LAYER, INIT.name)))
            assert clean.result.found == ()
            assert clean.clean is not None
            reference = oracle.reference([clean.clean])
            [plan] = generate.sample(making.plans(INIT, [clean.clean.book]), 1, SEED)
            done = perform(lane, Task(plan, reference))
            assert (done.result.found, done.result.fired) == ((), True), plan
        finally:
            lane.close()
