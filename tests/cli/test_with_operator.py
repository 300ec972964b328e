"""The commands on a real migration: what they tell while an operator works, and that it obeys them."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from shiplift.facts import kinds
from tests.until import until
from tests.workloads.conftest import rig, scene
from tests.workloads.rig import NEW, OLD, Rig, Scene

__all__ = ["rig", "scene"]
main = importlib.import_module("shiplift.cli.main")
Run = Callable[..., str]


@pytest.fixture
def run(rig: Rig, capsys: pytest.CaptureFixture[str]) -> Run:
    """What a command that succeeds has to say."""

    def command(*words: str) -> str:
        capsys.readouterr()
        code = main.run([*words, "--kubeconfig", str(rig.cluster.kubeconfig)])
        said = capsys.readouterr()
        assert code == 0, said.err
        return said.out + said.err

    return command


@pytest.fixture
def space(rig: Rig, scene: Scene) -> str:
    """`web` waits for `gate`, which no eviction can move; an operator is at work."""
    scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "gate", 1)
    scene.budget(space, "gate", "gate", minAvailable=1)
    scene.deployment(space, "web", 2)
    scene.order(space, web=["gate"])
    scene.wait_ready(space, gate=1, web=2)
    scene.nodes("new", NEW)
    rig.start()
    scene.migrate()
    until(lambda: scene.line("web").get("reason") == "WaitsForDependency", 60)
    until(lambda: scene.line("gate").get("state") == "Blocked", 60)
    return space


def test_what_stands_still_and_why_can_be_read(run: Run, space: str) -> None:
    told = run("status")
    assert told.startswith(f"Workloads  moving to {NEW}, mode Inject, for ")
    assert f"3 on {NEW} (target)" in told
    assert f"Deployment {space}/gate  Blocked " in told
    assert f"waits for Deployment {space}/gate, 0 of 1 pods moved" in told
    assert "heard of" not in told

    web = run("explain", "deploy/web", "-n", space)
    assert "Turn        held: new pods keep off the nodes of the target\n" in web
    assert f"Deployment {space}/gate  not yet, 0/1 pods  WorkloadOrder {space}/order\n" in web
    assert f"Unblocked when  Deployment {space}/gate moves its 1 pod\n" in web

    gate = run("explain", "deploy/gate")
    assert "State       blocked for " in gate
    assert "Turn        released: new pods go to nodes of the target\n" in gate
    assert "gate    1      1    0\n" in gate
    assert "PodDisruptionBudget gate needs fewer: it needs 1, has 1, and lets none go\n" in gate


def test_the_operator_pauses_goes_on_and_aborts_when_told(run: Run, scene: Scene, space: str) -> None:
    assert run("pause").startswith("paused: ")
    until(lambda: run("status").startswith(f"Workloads  paused on the way to {NEW}") and seen(scene))
    scene.drop(kinds.POD_DISRUPTION_BUDGET, "gate", space)
    assert run("resume").startswith("resumed: ")
    until(lambda: scene.arrived(space, "gate", "web"), 60)
    assert run("abort", "--yes").startswith("aborted: ")
    scene.wait_clean()
    until(lambda: run("status").startswith("Workloads  aborted\n"))
    assert scene.arrived(space, "gate", "web")


def test_without_the_operator_everything_can_be_undone(run: Run, rig: Rig, scene: Scene, space: str) -> None:
    rig.stop()
    assert scene.residue()
    told = run("undo")
    assert told.startswith("the migration is aborted, so that no operator begins again\n")
    assert f"let new pods of {space} go anywhere: ok\n" in told
    assert scene.residue() == []
    rig.start()
    until(lambda: run("status").startswith("Workloads  aborted\n"))
    assert scene.residue() == []


def seen(scene: Scene) -> bool:
    migration = scene.migration()
    return migration["status"]["observedGeneration"] == migration["metadata"]["generation"]
