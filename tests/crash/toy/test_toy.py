"""The harness takes any layer: here one with a provider and a listener of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shiplift.kube.part import Context
from shiplift.local.ports import free_ports
from tests.crash import generate, mutants, oracle
from tests.crash.lane import Lane
from tests.crash.oracle import CleanRun
from tests.crash.plans import Crash, CrashPoint, Failure, Fault, Pause, Plan, Spot, Trouble
from tests.crash.runner import Task, own_cluster, perform
from tests.crash.toy.layer import LISTEN, Berths
from tests.crash.toy.suite import FORGOTTEN, GIVEN_BACK, LEAVES, MUTANTS, STAYS

WISHED = Spot("wishes: POST wishes", STAYS)
MOORED = Spot("harbour: PUT berths", STAYS)
TROUBLES: tuple[Trouble, ...] = (
    Crash(MOORED, CrashPoint.BEFORE_REPLY),
    Crash(WISHED, CrashPoint.AFTER_REPLY),
    Crash(Spot("wishes: DELETE wishes", LEAVES), CrashPoint.BEFORE_REPLY),
    Crash(FORGOTTEN, CrashPoint.BEFORE_REPLY),
    Fault(Spot(GIVEN_BACK.step), Failure.LOST),
    Fault(Spot(WISHED.step), Failure.RESET),
    Pause(Spot(GIVEN_BACK.step)),
    Pause(Spot(WISHED.step)),
)
"""At calls to the provider, to the listener, and to the API server on behalf of either."""


@pytest.fixture(scope="module")
def lane(clusters_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lane]:
    with own_cluster(f"toy-{uuid.uuid4().hex[:8]}", clusters_folder) as cluster:
        made = Lane(cluster, tmp_path_factory.mktemp("lane"), "toy")
        yield made
        made.close()


def _clean(lane: Lane, scenario: str) -> CleanRun:
    done = perform(lane, Task(Plan("toy", scenario)))
    assert done.result.found == ()
    assert done.clean is not None
    return done.clean


def test_a_term_that_follows_another_keeps_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LISTEN, f"127.0.0.1:{free_ports(1)[0]}")
    kept: dict[str, Any] = {}
    for _ in range(2):
        Berths(cast("Context", SimpleNamespace(kept=kept)))


@pytest.mark.crash
def test_whatever_goes_wrong_with_a_provider_or_a_listener_the_end_is_the_same(lane: Lane) -> None:
    clean = _clean(lane, "berths")
    made = {one.trouble for one in generate.plans("toy", "berths", [clean.book])}
    assert made.issuperset(TROUBLES)
    outside = {one.call.outside: one.call.inward for one in clean.book.entries}
    assert outside == {"": False, "harbour": False, "wishes": True}
    for trouble in TROUBLES:
        done = perform(lane, Task(Plan("toy", "berths", trouble), oracle.reference([clean])))
        assert (done.result.found, done.result.fired) == ((), True), trouble


@pytest.mark.crash
def test_a_berth_that_nobody_knows_of_is_residue(lane: Lane, tmp_path: Path) -> None:
    clean, (bug,) = _clean(lane, "berths"), MUTANTS
    lane.use(mutants.mutated(bug, tmp_path / "code"), bug)
    plans = [Plan("toy", scenario, trouble) for scenario, trouble in bug.plans]
    found = [perform(lane, Task(plan, oracle.reference([clean]), bug)).result.found for plan in plans]
    lane.use(None)
    assert ("berth of leaves is left",) in [one[:1] for one in found]


@pytest.mark.crash
def test_an_operator_may_run_several_layers(lane: Lane) -> None:
    clean = _clean(lane, "beside-workloads")
    assert "pods" in clean.book.events
    plan = Plan("toy", "beside-workloads", Crash(MOORED, CrashPoint.AFTER_REPLY))
    done = perform(lane, Task(plan, oracle.reference([clean])))
    assert (done.result.found, done.result.fired) == ((), True)
