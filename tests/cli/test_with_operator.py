"""The commands on a real migration: what they tell while an operator works, and that it obeys them."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from shiplift.facts import kinds
from tests.operated import NEW, OLD
from tests.until import until
from tests.workloads.conftest import rig, scene
from tests.workloads.rig import Rig, Scene

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


HELD = """\
GATE         WHAT Deployment {space}/web HAS TO PASS
open         everything in its namespace can be read
closed       all that it depends on have moved
             WaitsForDependency: waits for Deployment {space}/gate, 0 of 1 pods moved (said by WorkloadOrder \
{space}/order)
not reached  nobody keeps it from its turn
not reached  its namespace's placement can name it
not reached  its template lets its pods onto target nodes
not reached  nodes of the target version are there
not reached  target nodes have come before the first move
not reached  its images run on what target nodes are
not reached  no pod of it makes room on an old node
not reached  a target node has room for a pod of it
not reached  its release is written down
not reached  no surge of it is under way
not reached  pods of it are left to move, or to come
not reached  nothing stops all moves
not reached  its pods were not evicted again and again
not reached  its PodDisruptionBudget is given back
not reached  API servers go by its placement
not reached  every namespace has its placement
not reached  no quorum service swaps its binary
not reached  no rollout of it is running

GATE         WHAT POD {pod} HAS TO PASS
not reached  a pod of its workload can be evicted at some time
not reached  the migration is not paused
not reached  evictions of this decision have room for it
not reached  its PodDisruptionBudget lets it go
not reached  its replacement does not come back to old nodes
not reached  a target node has room for it
"""
BLOCKED = """\
GATE     WHAT Deployment {space}/gate HAS TO PASS
open     everything in its namespace can be read
passed   all that it depends on have moved
passed   nobody keeps it from its turn
passed   its namespace's placement can name it
open     its template lets its pods onto target nodes
passed   nodes of the target version are there
passed   target nodes have come before the first move
passed   its images run on what target nodes are
passed   no pod of it makes room on an old node
passed   a target node has room for a pod of it
passed   its release is written down
open     no surge of it is under way
open     pods of it are left to move, or to come
unknown  nothing stops all moves
         only the operator knows
unknown  its pods were not evicted again and again
         only the operator knows
open     its PodDisruptionBudget is given back
unknown  API servers go by its placement
         only the operator knows
open     every namespace has its placement
open     no quorum service swaps its binary
open     no rollout of it is running

GATE         WHAT POD {pod} HAS TO PASS
closed       a pod of its workload can be evicted at some time
             NeverEvictable: PodDisruptionBudget {space}/gate needs 1 of 1 pods healthy: it never lets one \
go; change the budget, or set spec.onBlocked of WorkloadMigration cluster to Surge
not reached  the migration is not paused
not reached  evictions of this decision have room for it
not reached  its PodDisruptionBudget lets it go
not reached  its replacement does not come back to old nodes
not reached  a target node has room for it
"""


@pytest.mark.parametrize(("name", "gates"), [("web", HELD), ("gate", BLOCKED)])
def test_why_a_pod_has_not_moved_can_be_read_gate_by_gate(
    run: Run, rig: Rig, scene: Scene, space: str, name: str, gates: str
) -> None:
    pod = scene.pods(space, name)[0]["metadata"]["name"]
    told = run("explain", f"pod/{pod}", "-n", space)
    assert gates_of(told) == gates.format(space=space, pod=pod)
    rig.stop()
    assert gates_of(run("explain", f"pod/{pod}")) == gates_of(told)


def gates_of(told: str) -> str:
    return told[told.index("GATE ") :]


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
    told = run("undo", "--yes")
    assert told.startswith("the migration is aborted, so that no operator begins again\n")
    assert f"let new pods of {space} go anywhere: ok\n" in told
    assert scene.residue() == []
    rig.start()
    until(lambda: run("status").startswith("Workloads  aborted\n"))
    assert scene.residue() == []


def seen(scene: Scene) -> bool:
    migration = scene.migration()
    return migration["status"]["observedGeneration"] == migration["metadata"]["generation"]
