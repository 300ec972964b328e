"""`shiplift upgrade` and what a person does with an upgrade, against a real API server: what they write and
what they say."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound
from shiplift.kube.fence import whoami
from shiplift.local.cluster import Cluster
from tests.cli.conftest import Migrate

main = importlib.import_module("shiplift.cli.main")
Run = Callable[..., tuple[int, str]]
DIGEST = "sha256:" + "a" * 64
PLAN = {"digest": DIGEST, "version": "v1.36.3", "summary": "control plane to v1.36.3; nodes to v1.36.3"}


@pytest.fixture
def run(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """The exit code and what was said; nothing is written to stdout."""

    def command(*words: str) -> tuple[int, str]:
        code = main.run([*words, "--kubeconfig", str(api_server.kubeconfig)])
        said = capsys.readouterr()
        assert said.out == ""
        return code, said.err

    yield command
    with api_server.client() as client, contextlib.suppress(NotFound):
        uid = client.get(UPGRADE_CONFIG, "cluster")["metadata"]["uid"]
        client.delete(UPGRADE_CONFIG, "cluster", uid=uid)


def made(client: Client, status: dict[str, Any] | None = None, **spec: Any) -> None:
    body = {"metadata": {"name": "cluster"}, "spec": {"desired": {"version": "v1.36.3"}} | spec}
    client.create(UPGRADE_CONFIG, body)
    tell(client, **(status or {}))


def tell(client: Client, **status: Any) -> None:
    live = client.get(UPGRADE_CONFIG, "cluster")["metadata"]
    told = {"status": {"observedGeneration": live["generation"], **status}}
    about = {"uid": live["uid"], "resource_version": live["resourceVersion"], "subresource": "status"}
    client.patch(UPGRADE_CONFIG, "cluster", told, **about)


def spec(client: Client) -> dict[str, Any]:
    return client.get(UPGRADE_CONFIG, "cluster")["spec"]


def requests(client: Client) -> dict[str, dict[str, Any]]:
    return {one["verb"]: one for one in spec(client)["requests"]}


def test_a_new_upgrade_waits_for_an_approval_unless_it_is_given_at_once(run: Run, client: Client) -> None:
    code, said = run("upgrade", "--to", "1.36.3")
    assert code == 0
    assert said.splitlines()[0] == (
        "made UpgradeConfig cluster: the cluster is upgraded to v1.36.3, once its plan is approved"
    )
    assert said.splitlines()[-1] == "hint: shiplift approve shows the plan and approves it"
    assert (spec(client)["desired"], spec(client)["approval"]) == ({"version": "v1.36.3"}, "Manual")


def test_time_and_windows_are_written_as_they_are_meant(run: Run, client: Client) -> None:
    words = ("--at", "2026-11-20T22:00:00+01:00", "--window", "0 22 * * 1-5 for 4h in Europe/Madrid")
    assert run("upgrade", "--to", "v1.36.3", *words, "--window", "0  2 * * 6 for 90m", "--approve")[0] == 0
    found = spec(client)
    assert found["upgradeAt"] == "2026-11-20T21:00:00Z"
    assert found["windows"] == [
        {"schedule": "0 22 * * 1-5", "duration": "4h", "timeZone": "Europe/Madrid"},
        {"schedule": "0 2 * * 6", "duration": "90m", "timeZone": "UTC"},
    ]
    assert found["approval"] == "Automatic"


def test_who_asks_again_without_a_time_is_told_that_there_is_one(run: Run, client: Client) -> None:
    made(client, upgradeAt="2027-02-01T00:00:00Z")
    assert run("upgrade", "--to", "v1.36.3", "--yes")[1].splitlines() == [
        "nothing to change: UpgradeConfig cluster asks for that already, at 2027-02-01T00:00:00Z",
        "hint: --at says another time",
    ]
    assert run("upgrade", "--to", "v1.36.3", "--at", "2027-02-01T00:00:00Z")[1].splitlines() == [
        "nothing to change: UpgradeConfig cluster asks for that already, at 2027-02-01T00:00:00Z",
    ]


def test_where_somebody_else_changes_nodes_a_minor_will_do(run: Run, client: Client) -> None:
    assert run("upgrade", "--to", "1.36", "--external", "--approve")[0] == 0
    assert (spec(client)["type"], spec(client)["desired"]) == ("External", {"version": "v1.36"})
    assert "nothing to change" in run("upgrade", "--to", "v1.36", "--external")[1]
    assert "nothing to change" in run("upgrade", "--to", "v1.36", "--external", "--yes")[1]


def test_whose_upgrade_it_is_cannot_be_changed(run: Run, client: Client) -> None:
    made(client)
    code, said = run("upgrade", "--to", "v1.36.4", "--external", "--yes")
    assert code == 1
    assert "is of type Kubeadm, and stays so" in said
    assert spec(client)["desired"] == {"version": "v1.36.3"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "1.36"), "'1.36' is a minor"),
        (("--to", "latest"), "'latest' is no version of Kubernetes"),
        (("--to", "v1.36.3", "--at", "tonight"), "'tonight' is no time"),
        (("--to", "v1.36.3", "--at", "2026-11-20T22:00:00"), "does not say in which time zone it is"),
        (("--to", "v1.36.3", "--window", "0 22 * * *"), "'0 22 * * *' is no window"),
        (("--to", "v1.36.3", "--window", "0 25 * * * for 4h"), "window '0 25 * * *' cannot be read"),
        (("--to", "v1.36.3", "--window", "0 2 * * * for ever"), "'ever' is not a duration"),
        (("--to", "v1.36.3", "--window", "0 2 * * * for 4h in Mars"), "time zone 'Mars' is not known"),
    ],
)
def test_what_cannot_be_read_is_named_and_nothing_is_made(
    run: Run, client: Client, words: tuple[str, ...], message: str
) -> None:
    code, said = run("upgrade", *words)
    assert code == 1
    assert message in said
    assert "\nhint: " in said
    with pytest.raises(NotFound):
        spec(client)


def test_a_dry_run_changes_nothing(run: Run, client: Client) -> None:
    assert run("upgrade", "--to", "v1.36.3", "--dry-run") == (
        0,
        "would make UpgradeConfig cluster: the cluster is upgraded to v1.36.3, once its plan is approved\n",
    )
    with pytest.raises(NotFound):
        spec(client)


def test_another_version_is_shown_before_it_is_asked_for(run: Run, client: Client) -> None:
    made(client, {"targetVersion": "v1.36.3"})
    code, said = run("upgrade", "--to", "v1.36.9")
    assert code == 1
    assert "desired of UpgradeConfig cluster: v1.36.3 -> v1.36.9\n" in said
    assert "the upgrade to v1.36.3 runs: it is finished first\n" in said
    assert spec(client)["desired"] == {"version": "v1.36.3"}
    assert run("upgrade", "--to", "v1.36.9", "--yes")[0] == 0
    assert spec(client)["desired"] == {"version": "v1.36.9"}
    assert run("upgrade", "--to", "v1.36.9", "--yes")[1].startswith("nothing to change")


def test_of_an_upgrade_that_came_from_a_provider_it_is_said_what_becomes_of_another_version(
    run: Run, client: Client
) -> None:
    made(client)
    live = client.get(UPGRADE_CONFIG, "cluster")["metadata"]
    client.patch(
        UPGRADE_CONFIG, "cluster", {"metadata": {"labels": {PROVIDER_LABEL: "OCM"}}}, uid=live["uid"]
    )
    code, said = run("upgrade", "--to", "v1.36.9")
    assert code == 1
    assert "UpgradeConfig cluster came from provider OCM: where it has a policy, that is put back" in said
    assert "hint: change the version at the provider" in said


def test_an_abort_is_left_behind_with_its_version(run: Run, client: Client) -> None:
    made(client, abort=True)
    code, said = run("upgrade", "--to", "v1.36.3", "--yes")
    assert (code, "an abort cannot be withdrawn" in said) == (1, True)
    assert run("upgrade", "--to", "v1.36.9", "--yes")[0] == 0
    assert not spec(client)["abort"]


def test_pause_and_resume_mean_the_upgrade_and_say_who_and_why(run: Run, client: Client) -> None:
    made(client)
    assert run("pause", "--reason", "the shop is busy") == (
        0,
        "paused: what is in flight ends, nothing new is begun\nhint: shiplift resume goes on\n",
    )
    asked = requests(client)["Pause"]
    assert (asked["by"], asked["reason"]) == (whoami(client).username, "the shop is busy")
    assert asked["at"]
    assert run("pause") == (0, "the upgrade was paused already\n")
    assert run("resume")[0] == 0
    assert not spec(client)["paused"]
    assert set(requests(client)) == {"Pause", "Resume"}
    assert run("resume")[1].startswith("the upgrade was not paused\n")


def test_the_move_of_workloads_is_meant_by_name_or_where_no_upgrade_is_under_way(
    run: Run, client: Client, migrate: Migrate
) -> None:
    made(client)
    migrate()
    assert run("pause", "wm")[1].startswith("paused: what is in flight ends; nothing new starts")
    assert not spec(client).get("paused")
    assert run("resume", "wm")[0] == 0
    tell(client, phase="Upgraded")
    assert run("pause")[1].startswith("paused: what is in flight ends; nothing new starts")
    assert not spec(client).get("paused")
    assert run("pause", "wm", "--reason", "x") == (
        1,
        "error: a reason is written down for upgrades only\nhint: leave --reason out\n",
    )


def test_an_abort_is_confirmed_and_cannot_be_taken_back(run: Run, client: Client) -> None:
    made(client, {"nodes": {"done": 1, "total": 4, "summary": "1/4"}})
    code, said = run("abort")
    assert (code, "shiplift abort --yes" in said) == (1, True)
    assert run("abort", "--yes", "--reason", "no")[0] == 0
    assert spec(client)["abort"]
    assert requests(client)["Abort"]["reason"] == "no"
    assert run("abort", "--yes") == (0, "the upgrade was aborted already\n")
    assert run("pause")[1].startswith("error: the upgrade is aborted: there is nothing to pause\n")


def test_the_plan_that_is_told_is_approved_in_ones_own_name(run: Run, client: Client) -> None:
    made(client, {"plan": PLAN}, approval="Manual")
    code, said = run("approve")
    assert code == 1
    assert said.startswith("the plan to v1.36.3:\n  1. control plane to v1.36.3\n  2. nodes to v1.36.3\n")
    assert run("approve", "--yes", "--reason", "change 4711")[0] == 0
    approved = spec(client)["approved"]
    assert (approved["version"], approved["planDigest"]) == ("v1.36.3", DIGEST)
    assert (approved["by"], approved["reason"]) == (whoami(client).username, "change 4711")
    tell(client, plan=PLAN)
    assert run("approve", "--yes") == (0, "the plan to v1.36.3 is approved already\n")


def test_what_cannot_be_approved_says_why(run: Run, client: Client) -> None:
    assert "there is no UpgradeConfig in this cluster" in run("approve")[1]
    made(client)
    assert "the upgrade asks nobody" in run("approve")[1]
    live = client.get(UPGRADE_CONFIG, "cluster")["metadata"]
    client.patch(UPGRADE_CONFIG, "cluster", {"spec": {"approval": "Manual"}}, uid=live["uid"])
    assert "there is no plan of what is asked for now" in run("approve", "--yes")[1]


def test_a_retry_is_asked_for_once(run: Run, client: Client) -> None:
    made(client)
    assert run("retry", "--reason", "disk replaced")[0] == 0
    assert spec(client)["retry"] == 1
    assert requests(client)["Retry"]["reason"] == "disk replaced"
    assert run("retry") == (0, "it was asked for already, and no operator has done it yet\n")
    tell(client, retried=1)
    assert run("retry")[0] == 0
    assert spec(client)["retry"] == 2
