"""`shiplift status` against a real API server, with no operator anywhere."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from shiplift.api import crd
from shiplift.cli.access import NOT_INSTALLED
from shiplift.engine import versions as versioning
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, LEASE, NODE, WORKLOAD_MIGRATION
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.api.api_server import wait_established
from tests.cli.conftest import Migrate
from tests.cli.terminal import Terminal
from tests.until import until
from tests.workloads.face.migrations import BUSY, progress, waiting

main = importlib.import_module("shiplift.cli.main")
SHIPLIFT = (sys.executable, "-c", "from shiplift.cli import main; main()")
CTRL_C = "\x03"
_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
MOVING = {
    "observedGeneration": 1,
    "state": "Upgrade",
    "target": "v1.36.3",
    "mode": "Inject",
    "progress": progress(1, 3),
    "pods": progress(2, 6),
    "workloads": [waiting("web", "Held", "StatefulSet shop/db"), waiting("db", "Moving", "pod shop/db-1")],
}


@pytest.fixture
def status(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*words: str) -> tuple[int, str, str]:
        code = main.run(["status", *words, "--kubeconfig", str(api_server.kubeconfig)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return kept | {"TERM": "xterm-256color", "TZ": "UTC"}


def test_it_tells_everything_that_the_object_says(
    status: Callable[..., tuple[int, str, str]], migrate: Migrate
) -> None:
    migrate(BUSY)
    code, said, errors = status()
    assert (code, errors) == (0, "")
    assert "12/59 workloads, 80/240 pods, 1,234 evictions\n" in said
    for text in (
        "moving to v1.36.3, mode Inject",
        "3 on v1.35.4, 2 on v1.36.3 (target)",
        "PodDisruptionBudget cache needs 2 has 2: one more replica, or a lower minAvailable\n",
        "note         somebody changed PodDisruptionBudget shop/web [minAvailable] while we held it\n",
        "hint: create what is missing",
    ):
        assert text in said
    assert "\x1b" not in said
    assert all(line == line.rstrip() for line in said.splitlines())


@pytest.mark.usefixtures("migrate")
def test_without_a_migration_it_says_how_to_begin_and_that_works(
    status: Callable[..., tuple[int, str, str]], api_server: Cluster
) -> None:
    code, said, errors = status()
    assert (code, said) == (1, "")
    assert errors == (
        "error: there is no UpgradeConfig, WorkloadMigration, NodeRollout, MachinePool, AppType,"
        " OperatorCatalog or QuorumService in this cluster\n"
        "hint: shiplift upgrade --to VERSION begins an upgrade\n"
    )
    assert main.run(["migrate", "--to", "v1.36.3", "--kubeconfig", str(api_server.kubeconfig)]) == 0
    code, said, _ = status()
    assert code == 0
    assert said.startswith("Workloads  not begun: the move to v1.36.3\n")
    assert "hint: no operator with the layer workloads has looked at it yet" in said


WRONG = "hint: that is not installed here; is another cluster meant? --context names it\n"


def test_who_wants_to_stop_something_where_nothing_of_ours_is_may_mean_another_cluster(
    private_cluster: Callable[[], Cluster], capsys: pytest.CaptureFixture[str]
) -> None:
    access = ["--kubeconfig", str(private_cluster().kubeconfig)]
    for words, said in (
        (["undo", "--yes"], "this cluster does not know "),
        (["pause"], f"there is nothing to pause: this cluster does not know WorkloadMigrations\n{WRONG}"),
        (
            ["abort", "--yes"],
            f"there is nothing to abort: this cluster does not know WorkloadMigrations\n{WRONG}",
        ),
    ):
        assert main.run([*words, *access]) == 1
        errors = capsys.readouterr().err
        assert errors.startswith(f"error: {said}")
        assert errors.endswith(WRONG)


def test_without_our_crds_it_says_how_to_install_them(
    private_cluster: Callable[[], Cluster], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = private_cluster()
    assert main.run(["status", "--kubeconfig", str(cluster.kubeconfig)]) == 1
    assert capsys.readouterr().err == (
        "error: this cluster does not know UpgradeConfigs, WorkloadMigrations, NodeRollouts, MachinePools,"
        " AppTypes, OperatorCatalogs or QuorumServices\n"
        f"hint: {NOT_INSTALLED}\n"
    )
    with cluster.client() as client:
        for manifest in crd.manifests():
            client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
    assert main.run(["status", "--kubeconfig", str(cluster.kubeconfig)]) == 1
    assert "there is no UpgradeConfig, WorkloadMigration" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_one_line_and_a_hint(
    api_server: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = api_server.state.ports.api
    elsewhere = tmp_path / "kubeconfig"
    elsewhere.write_text(api_server.kubeconfig.read_text().replace(f":{port}", ":1"))
    assert main.run(["status", "--kubeconfig", str(elsewhere)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert second == "hint: is the API server there, and is it the right kubeconfig?"


def stamp(ago: int = 0) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=ago)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


OURS = "shiplift-system"
AWAY = (
    r"no operator has been heard of for \d+ (s|h); this is how it was\n"
    r"Workloads  moving to v1.36.3, mode Inject\n"
)
RUNNING = MOVING | {"eta": {"likely": "2126-11-16T12:00:00Z"}}


def test_that_the_operator_is_away_is_told(
    status: Callable[..., tuple[int, str, str]], migrate: Migrate, client: Client, space: Callable[[str], str]
) -> None:
    migrate(RUNNING)
    assert "heard of" not in status()[1], "nobody can tell"
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-05-01T09:00:00.000000Z"}
    lease = client.create(LEASE, {"metadata": {"name": "shiplift"}, "spec": spec}, space(OURS)).object
    theirs = spec | {"renewTime": "2099-01-01T00:00:00.000000Z"}
    client.create(LEASE, {"metadata": {"name": "shiplift"}, "spec": theirs}, space("theirs"))
    try:
        assert re.match(AWAY, status()[1])
        for changed, away in (
            ({"renewTime": stamp()}, False),
            ({"renewTime": stamp(20)}, True),
            ({"renewTime": stamp(1), "holderIdentity": None}, True),
        ):
            lease = client.update(LEASE, lease | {"spec": spec | changed}).object
            said = status()[1]
            assert ("to go" in said) is not away
            assert bool(re.match(AWAY, said)) is away
            assert ("until an operator runs again" in said) is away
    finally:
        client.delete(LEASE, "shiplift", OURS, uid=lease["metadata"]["uid"])


def test_only_the_first_are_shown_unless_all_are_asked_for(
    status: Callable[..., tuple[int, str, str]], migrate: Migrate
) -> None:
    listed = [waiting(f"web-{number}", "Held", "StatefulSet shop/db") for number in range(500)]
    migrate(MOVING | {"progress": progress(0, 500), "workloads": listed})
    _, few, _ = status()
    assert "and 480 more; --all shows them\n" in few
    assert few.count("Deployment shop/web-") == 20
    _, every, _ = status("--all")
    assert every.count("Deployment shop/web-") == 500
    assert " more" not in every


def test_elsewhere_than_on_a_terminal_each_change_is_a_line(
    api_server: Cluster, migrate: Migrate, client: Client, environment: dict[str, str]
) -> None:
    migrate(MOVING)
    command = [*SHIPLIFT, "status", "-w", "--kubeconfig", str(api_server.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as watch:
        assert watch.stdout
        assert watch.stdout.readline()[9:] == "moving to v1.36.3; 1/3 workloads, 2/6 pods\n"
        released = waiting("web", "Released", "a slot on a target node")
        migrate(MOVING | {"progress": progress(2, 3), "workloads": [released]})
        told = [watch.stdout.readline()[9:] for _ in range(3)]
        assert told == [
            "moving to v1.36.3; 2/3 workloads, 2/6 pods\n",
            "Deployment shop/web: Released, a slot on a target node\n",
            "StatefulSet shop/db: has moved\n",
        ]
        found = client.get(WORKLOAD_MIGRATION, "cluster")
        client.delete(WORKLOAD_MIGRATION, "cluster", uid=found["metadata"]["uid"])
        assert watch.stdout.readline()[9:] == "there is no WorkloadMigration in this cluster\n"
        watch.send_signal(2)
        assert watch.wait(20) == 130


def test_a_server_that_goes_away_meanwhile_is_told_of(
    private_cluster: Callable[[], Cluster], environment: dict[str, str]
) -> None:
    cluster = private_cluster()
    with cluster.client() as client:
        for manifest in crd.manifests():
            client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
        client.create(WORKLOAD_MIGRATION, {"metadata": {"name": "cluster"}})
    command = [*SHIPLIFT, "status", "-w", "--kubeconfig", str(cluster.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as watch:
        assert watch.stdout
        assert watch.stdout.readline()[9:] == "not begun\n"
        cluster.kill(Component.API_SERVER)
        assert watch.stdout.readline()[9:] == "the API server does not answer\n"
        watch.send_signal(2)
        assert watch.wait(20) == 130
    cluster.down()


def test_on_a_terminal_the_picture_changes_in_place_until_it_is_left(
    api_server: Cluster, migrate: Migrate, environment: dict[str, str]
) -> None:
    listed = [waiting(f"web-{number}", "Held", "x" * 200) for number in range(50)]
    migrate(MOVING | {"progress": progress(0, 50), "workloads": listed})
    command = [*SHIPLIFT, "status", "-w", "--kubeconfig", str(api_server.kubeconfig)]
    with Terminal(command, environment) as terminal:
        terminal.read_until("--all shows them")
        shown = terminal.output.count("web-")
        assert 16 <= shown <= 20, "all that are asked for and fit in the 30 lines that there are"
        assert f"and {50 - shown} more; --all shows them" in terminal.output
        terminal.forget()
        migrate(MOVING, paused=True)
        terminal.read_until("paused on the way to")
        terminal.read_until("shiplift resume")
        terminal.press("q")
        assert terminal.wait() == 0
        assert "paused on the way to" in terminal.output.rpartition("\x1b[?1049l")[2], (
            "the last picture stays"
        )
        assert terminal.settings_now == terminal.settings


def test_an_interrupt_leaves_the_terminal_as_it_was(
    api_server: Cluster, migrate: Migrate, environment: dict[str, str]
) -> None:
    migrate(MOVING)
    command = [*SHIPLIFT, "status", "-w", "--kubeconfig", str(api_server.kubeconfig)]
    with Terminal(command, environment) as terminal:
        terminal.read_until("moving to")
        terminal.read_until("q or Ctrl-C leaves")
        terminal.press(CTRL_C)
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output
        assert "moving to" in terminal.output.rpartition("\x1b[?1049l")[2], "the last picture stays"
        until(lambda: terminal.settings_now == terminal.settings)


ARRIVED = MOVING | {"progress": progress(3, 3), "workloads": []}


@pytest.fixture
def led(client: Client, space: Callable[[str], str]) -> Iterator[Callable[..., None]]:
    """The Lease of an operator, good for an hour; called, it says something else."""
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 3600, "renewTime": stamp()}
    lease = client.create(LEASE, {"metadata": {"name": "shiplift"}, "spec": spec}, space(OURS)).object

    def say(**changed: Any) -> None:
        nonlocal lease
        lease = client.update(LEASE, lease | {"spec": spec | changed}).object

    yield say
    client.delete(LEASE, "shiplift", OURS, uid=lease["metadata"]["uid"])


@pytest.fixture
def versions(client: Client) -> Callable[[], dict[str, Any]]:
    """What a status says of the nodes that other tests have left."""

    def told() -> dict[str, Any]:
        counted = Counter(
            versioning.normal(one["status"].get("nodeInfo", {}).get("kubeletVersion", ""))
            for one in client.list(NODE)
        )
        return {"versions": [{"version": version, "nodes": many} for version, many in counted.items()]}

    return told


@pytest.mark.usefixtures("led")
def test_who_waits_for_the_end_is_let_go_when_every_workload_has_moved(
    api_server: Cluster,
    migrate: Migrate,
    environment: dict[str, str],
    versions: Callable[[], dict[str, Any]],
) -> None:
    migrate(MOVING)
    command = [*SHIPLIFT, "status", "-w", "--until-moved", "--kubeconfig", str(api_server.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as watch:
        assert watch.stdout
        assert watch.stdout.readline()[9:] == "moving to v1.36.3; 1/3 workloads, 2/6 pods\n"
        migrate(ARRIVED | versions())
        assert watch.stdout.readline()[9:] == "all have moved to v1.36.3; 3/3 workloads, 2/6 pods\n"
        assert watch.wait(20) == 0


@pytest.mark.usefixtures("led")
def test_on_a_terminal_the_end_leaves_the_last_picture(
    api_server: Cluster,
    migrate: Migrate,
    environment: dict[str, str],
    versions: Callable[[], dict[str, Any]],
) -> None:
    migrate(MOVING)
    command = [*SHIPLIFT, "status", "--until-moved", "--kubeconfig", str(api_server.kubeconfig)]
    with Terminal(command, environment) as terminal:
        terminal.read_until("1/3 workloads")
        migrate(ARRIVED | versions())
        assert terminal.wait() == 0
        assert "3/3 workloads" in terminal.output.rpartition("\x1b[?1049l")[2]


def test_who_waits_for_the_end_is_not_let_go_by_what_a_dead_operator_said(
    api_server: Cluster,
    migrate: Migrate,
    client: Client,
    led: Callable[..., None],
    versions: Callable[[], dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody has seen the node that came after it had ended."""

    def wait() -> tuple[int, str]:
        code = main.run(["wait", "--patience", "1s", "--kubeconfig", str(api_server.kubeconfig)])
        return code, capsys.readouterr().err

    migrate(ARRIVED | versions())
    assert wait()[0] == 0
    led(renewTime=stamp(4000))
    assert wait() == (3, ANY)
    led(holderIdentity=None)
    code, said = wait()
    assert code == 3
    assert "error: stalled: no operator runs\n" in said

    led()
    info = {"kubeletVersion": "v1.99.0"} | dict.fromkeys(_NODE_INFO, "")
    node = client.create(NODE, {"metadata": {"name": "fresh"}, "status": {"nodeInfo": info}}).object
    try:
        client.update(NODE, node | {"status": {"nodeInfo": info}}, subresource="status")
        code, said = wait()
        assert code == 3
        assert "error: stalled: nodes run v1.99.0, which the status of WorkloadMigration cluster" in said
        migrate(ARRIVED | versions())
        assert wait()[0] == 0
    finally:
        client.delete(NODE, "fresh", uid=node["metadata"]["uid"])


def test_where_no_lease_can_be_seen_nobody_is_let_go(
    api_server: Cluster,
    migrate: Migrate,
    versions: Callable[[], dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    migrate(ARRIVED | versions())
    assert main.run(["wait", "--patience", "1s", "--kubeconfig", str(api_server.kubeconfig)]) == 3
    assert "error: stalled: whether an operator runs cannot be told" in capsys.readouterr().err


def test_an_aborted_move_is_no_end_that_a_script_may_go_on_after(
    status: Callable[..., tuple[int, str, str]], migrate: Migrate
) -> None:
    migrate(ARRIVED, abort=True)
    code, _, said = status("--until-moved")
    assert code == 1
    assert said.splitlines()[0] == "error: aborting the move to v1.36.3: workloads stay where they are"
    assert said.splitlines()[1].startswith("hint: `shiplift migrate --to VERSION` starts again")


def test_who_leaves_before_the_end_is_told_so(
    api_server: Cluster, migrate: Migrate, environment: dict[str, str]
) -> None:
    migrate(MOVING)
    command = [*SHIPLIFT, "status", "-w", "--until-moved", "--kubeconfig", str(api_server.kubeconfig)]
    with Terminal(command, environment) as terminal:
        terminal.read_until("1/3 workloads")
        terminal.press("q")
        assert terminal.wait() == 1
        assert "left before every workload had moved" in terminal.output
