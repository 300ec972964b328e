"""What a person is told of a real migration, from its start to its end, whichever way they ask."""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiplift.cli.output import Exit
from shiplift.facts import kinds
from shiplift.facts.kinds import EVENT
from shiplift.kube.account import Account
from shiplift.kube.manifests import kind_of
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.nodes import SERVICE_ACCOUNT
from tests.cli.test_with_operator import rig, scene
from tests.operated import NEW, OLD
from tests.until import until
from tests.workloads.rig import Rig, Scene

__all__ = ["rig", "scene"]
main = importlib.import_module("shiplift.cli.main")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(rig: Rig, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str, kubeconfig: Path | None = None) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main.run([*words, "--kubeconfig", str(kubeconfig or rig.cluster.kubeconfig)])
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def kubectl(rig: Rig) -> Callable[..., str]:
    def run(*words: str) -> str:
        command = [rig.cluster.state.programs["kubectl"], "--kubeconfig", str(rig.cluster.kubeconfig), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


def blocked(rig: Rig, scene: Scene) -> tuple[str, Any]:
    """`web` waits for `gate`, which no eviction can move; an operator is at work."""
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "gate", 1)
    scene.budget(space, "gate", "gate", minAvailable=1)
    scene.deployment(space, "web", 2)
    scene.order(space, web=["gate"], webb=["gate"])
    scene.wait_ready(space, gate=1, web=2)
    scene.nodes("new", NEW)
    rig.start()
    scene.migrate()
    until(lambda: scene.line("gate").get("state") == "Blocked", 60)
    until(lambda: scene.status().get("blocked") == 1, 60)
    return space, old


def reasons(scene: Scene) -> list[str]:
    """Of the Events on the WorkloadMigration, the oldest first."""
    uid = scene.migration()["metadata"]["uid"]
    found = [one for one in scene.client.list(EVENT, "default") if one["regarding"].get("uid") == uid]
    return [one["reason"] for one in sorted(found, key=lambda one: one["eventTime"])]


def _columns(table: str, *names: str) -> list[str]:
    """Of the only row."""
    head, row = table.splitlines()
    return [row[head.index(name) :].split()[0] for name in names]


def test_the_whole_way_is_told(run: Run, rig: Rig, scene: Scene, kubectl: Callable[..., str]) -> None:
    space, old = blocked(rig, scene)

    code, said, _ = run("status")
    assert code == 0
    assert " to go" not in said
    assert f"Needs      somebody who helps Deployment {space}/gate\n" in said
    assert f"Deployment {space}/webb does not exist, so its dependsOn has no effect" in said
    told = json.loads(run("status", "-o", "json")[1])["layers"]["workloads"]
    assert (told["blocked"], told["eta"], told["arrival"]) == (1, None, "NotYet")
    assert told["workloads"] == {"done": 0, "total": 2}
    until(lambda: _columns(kubectl("get", "workloadmigration"), "BLOCKED", "READY") == ["1", "False"])
    assert run("wait", "--patience", "1s", "--timeout", "1m")[0] == Exit.STALLED
    order = scene.client.get(kinds.WORKLOAD_ORDER, "order", space)
    assert order["status"]["absent"] == [f"Deployment {space}/webb"]

    scene.drop(kinds.POD_DISRUPTION_BUDGET, "gate", space)
    code, _, errors = run("wait", "--timeout", "2m")
    assert (code, errors.splitlines()[-1]) == (0, "done: every workload is on nodes of the target")
    scene.finish(old)
    until(lambda: "Finished" in reasons(scene), 30)
    found = reasons(scene)
    assert found[0] == "Started"
    assert found.index("Blocked") < found.index("Unblocked") < found.index("Finished")
    assert len(found) < 12
    until(lambda: run("status")[1].startswith("Workloads  nothing to move\n"), 30)
    said = run("status")[1]
    assert f"Last       to {NEW}, moved 2/2 workloads, 3/3 pods, 3 evictions in " in said


def test_time_that_is_over_has_an_exit_code_of_its_own(run: Run, rig: Rig, scene: Scene) -> None:
    blocked(rig, scene)
    assert run("wait", "--timeout", "1s", "--patience", "5m", "-q")[0] == Exit.TIMEOUT


def test_an_operator_that_has_ended_is_told_of(run: Run, rig: Rig, scene: Scene) -> None:
    blocked(rig, scene)
    rig.stop()
    said = run("status")[1]
    assert said.startswith("no operator has been heard of for ")
    assert run("wait", "--patience", "1s")[2].count("stalled: no operator runs") == 1


def test_whoever_may_view_the_cluster_may_view_its_migration(
    run: Run, rig: Rig, scene: Scene, tmp_path: Path
) -> None:
    space, _ = blocked(rig, scene)
    client = rig.client
    client.create(SERVICE_ACCOUNT, {"metadata": {"name": "viewer"}}, space)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{space}-viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": space}],
    }
    kind = kind_of(binding)
    made = client.create(kind, binding).object
    try:
        viewer = kubeconfig_of(Account(space, "viewer"), rig.cluster.kubeconfig, tmp_path / "viewer")
        until(lambda: run("status", kubeconfig=viewer)[0] == 0)
        told = json.loads(run("status", "-o", "json", kubeconfig=viewer)[1])
        assert told["operator"]["running"] is True, "the Lease can be read, too"
        assert run("order", "check", kubeconfig=viewer)[0] == 1
        assert run("pause", kubeconfig=viewer)[0] == 1, "and nothing can be changed"
    finally:
        client.delete(kind, binding["metadata"]["name"], uid=made["metadata"]["uid"])
