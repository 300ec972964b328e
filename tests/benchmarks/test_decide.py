"""The benchmark of one decision, small."""

from __future__ import annotations

from benchmarks import decide
from benchmarks.migrate.plan import Size


def test_the_figures_are_measured_on_decisions_that_move_pods() -> None:
    found = decide.run(Size(nodes=10, pods=400, workloads=60, depth=8), rounds=2)
    assert min(found["event_s"], found["full_s"], found["yardstick_s"]) > 0
