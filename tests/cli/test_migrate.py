"""`shiplift migrate`: makes the WorkloadMigration, and changes what is there only after showing it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from shiplift.cli.migrate import changes, how_it_goes, read_version, shown
from shiplift.cli.output import CommandError
from shiplift.facts.kinds import WORKLOAD_MIGRATION
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.view.values import Heard
from tests.cli.conftest import Migrate
from tests.workloads.face.migrations import NEW, OLD, at, migration, progress

RUNS_ONE = "; `shiplift operator` runs one from here"
main = importlib.import_module("shiplift.cli.main")


@pytest.mark.parametrize(("text", "version"), [("v1.36.3", "v1.36.3"), ("1.36.3", "v1.36.3")])
def test_a_version_is_read_as_people_write_it(text: str, version: str) -> None:
    assert read_version(text) == version


@pytest.mark.parametrize("text", ["", "soon", "v1", "1.36", "v1.36.3; rm", "v1.36." + "9" * 30])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="is no version of Kubernetes"):
        read_version(text)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, {"target": NEW}),
        ({"target": NEW}, {}),
        ({"target": "1.36.3"}, {}),
        ({"target": OLD}, {"target": NEW}),
        ({"target": OLD, "paused": True}, {"target": NEW}),
        ({"target": OLD, "abort": True}, {"target": NEW, "abort": False}),
        ({"abort": True}, {"target": NEW, "abort": False}),
    ],
)
def test_only_what_has_to_change_is_changed(spec: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert changes(migration({}, spec), NEW) == wanted


@pytest.mark.parametrize(
    ("spec", "about", "message"),
    [
        ({"target": NEW, "abort": True}, {}, "an abort cannot be withdrawn"),
        ({}, {"deletionTimestamp": at(1)}, "is being deleted"),
    ],
)
def test_what_cannot_be_is_refused_with_a_way(
    spec: dict[str, Any], about: dict[str, Any], message: str
) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        changes(migration({}, spec, **about), NEW)
    assert caught.value.hint.endswith("then say it again")


def test_what_would_change_is_shown_with_what_that_means() -> None:
    status = {"state": "Upgrade", "target": OLD, "progress": progress(2, 5)}
    found = migration(status, {"target": OLD, "paused": True, "abort": True})
    assert shown(found, changes(found, NEW)) == [
        "target of WorkloadMigration cluster: v1.35.4 -> v1.36.3",
        "abort of WorkloadMigration cluster: true -> false",
        "2 of 5 workloads have moved to v1.35.4",
        "it stays paused: shiplift resume goes on",
    ]


def test_of_one_that_has_not_begun_nothing_is_said_to_have_moved() -> None:
    found = migration({"state": "Upgrade", "target": OLD, "progress": progress(0, 5)}, {})
    assert shown(found, changes(found, NEW)) == [
        "target of WorkloadMigration cluster: the highest version seen -> v1.36.3"
    ]


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        (None, f"no operator has been seen: nothing moves before one does{RUNS_ONE}"),
        (Heard(100), f"no operator runs: nothing moves before one does{RUNS_ONE}"),
        (Heard(199, gone=True), f"no operator runs: nothing moves before one does{RUNS_ONE}"),
        (Heard(199), ""),
    ],
)
def test_that_no_operator_runs_is_told_at_once(heard: Heard | None, said: str) -> None:
    watch = "hint: shiplift status -w shows how it goes"
    assert how_it_goes(heard, 200) == ([said, watch] if said else [watch])


# --- on a real API server ---

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, str]:
        code = main.run(["migrate", *words, "--kubeconfig", str(api_server.kubeconfig)])
        said = capsys.readouterr()
        assert said.out == ""
        return code, said.err

    return command


def the_spec(client: Client) -> dict[str, Any] | None:
    found = next(iter(client.list(WORKLOAD_MIGRATION)), None)
    return found["spec"] if found else None


@pytest.mark.usefixtures("migrate")
def test_the_migration_is_made_as_the_guide_writes_it(run: Run, client: Client) -> None:
    code, said = run("--to", NEW, "--dry-run")
    assert (code, the_spec(client)) == (0, None)
    assert f"would make WorkloadMigration cluster: workloads move to {NEW} as their turn comes\n" in said
    code, said = run("--to", "1.36.3")
    assert code == 0, said
    assert f"made WorkloadMigration cluster: workloads move to {NEW} as their turn comes\n" in said
    spec = the_spec(client)
    assert spec is not None
    assert spec["target"] == NEW
    code, said = run("--to", NEW)
    assert code == 0
    assert said.endswith(f"nothing to change: the target of WorkloadMigration cluster is {NEW}\n")


@pytest.mark.usefixtures("migrate")
def test_that_no_node_is_of_the_version_yet_is_told(run: Run) -> None:
    code, said = run("--to", "v1.36.99", "--dry-run", "--paused")
    assert code == 0
    assert (
        "would make WorkloadMigration cluster: workloads move to v1.36.99 after `shiplift resume`\n" in said
    )
    assert "no node runs v1.36.99 yet (" in said
    assert "): nothing moves before one does\n" in said


def test_what_is_there_is_changed_only_when_somebody_agrees(
    run: Run, client: Client, migrate: Migrate
) -> None:
    migrate(target=OLD, soak="30s")
    code, said = run("--to", NEW)
    assert code == 1
    assert "target of WorkloadMigration cluster: v1.35.4 -> v1.36.3\n" in said
    assert "error: nobody is here to confirm it\n" in said
    assert "hint: shiplift migrate --to VERSION --yes asks nothing\n" in said
    assert run("--to", NEW, "--dry-run")[0] == 0
    assert (the_spec(client) or {})["target"] == OLD
    assert run("--to", NEW, "--yes", "--paused")[0] == 0
    spec = the_spec(client) or {}
    assert (spec["target"], spec["soak"], spec["paused"]) == (NEW, "30s", True)


@pytest.mark.parametrize(
    ("meanwhile", "code", "target"),
    [
        ({"status": {"state": "Upgrade"}}, 0, NEW),
        ({"soak": "1h"}, 1, OLD),
    ],
    ids=["the operator writes its status", "somebody changes the spec"],
)
def test_what_was_shown_is_changed_and_nothing_that_came_after(
    run: Run,
    client: Client,
    migrate: Migrate,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: dict[str, Any],
    code: int,
    target: str,
) -> None:
    migrate(target=OLD)
    monkeypatch.setattr("shiplift.cli.migrate.confirm", lambda *_: migrate(**{"target": OLD} | meanwhile))
    assert run("--to", NEW)[0] == code
    assert (the_spec(client) or {})["target"] == target


@pytest.mark.usefixtures("migrate")
def test_it_can_be_made_to_wait(run: Run, client: Client) -> None:
    code, said = run("--to", NEW, "--paused")
    assert code == 0
    assert "after `shiplift resume`" in said
    assert (the_spec(client) or {})["paused"] is True


def test_after_an_abort_another_target_begins_anew(run: Run, client: Client, migrate: Migrate) -> None:
    migrate(target=OLD)
    migrate(target=OLD, abort=True)
    assert run("--to", OLD, "--yes")[0] == 1
    code, said = run("--to", NEW, "--yes")
    assert code == 0, said
    assert not (the_spec(client) or {}).get("abort")
