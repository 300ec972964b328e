"""`shiplift pause`, `resume` and `abort` against a real API server: what they write and what they say."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from shiplift.facts.kinds import WORKLOAD_MIGRATION
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict
from shiplift.local.cluster import Cluster
from tests.cli.conftest import Migrate
from tests.cli.terminal import Terminal
from tests.workloads.face.migrations import progress, waiting

main = importlib.import_module("shiplift.cli.main")
Run = Callable[..., tuple[int, str]]
SHIPLIFT = (sys.executable, "-c", "from shiplift.cli import main; main()")
MOVING = {
    "observedGeneration": 1,
    "state": "Upgrade",
    "target": "v1.36.3",
    "progress": progress(1, 3),
    "workloads": [waiting("db", "Moving"), waiting("queue", "Moving"), waiting("web", "Held")],
}


@pytest.fixture
def run(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Run:
    """The exit code and what was said; nothing is written to stdout."""

    def command(*words: str) -> tuple[int, str]:
        code = main.run([*words, "--kubeconfig", str(api_server.kubeconfig)])
        said = capsys.readouterr()
        assert said.out == ""
        return code, said.err

    return command


def spec(client: Client) -> dict[str, Any]:
    return client.get(WORKLOAD_MIGRATION, "cluster")["spec"]


def generation(client: Client) -> int:
    return client.get(WORKLOAD_MIGRATION, "cluster")["metadata"]["generation"]


def test_pause_and_resume_say_what_happens_now(run: Run, migrate: Migrate, client: Client) -> None:
    migrate(MOVING, target="v1.36.3")
    assert run("pause") == (
        0,
        "paused: what is in flight ends (StatefulSet shop/db and 1 more); nothing new starts\n"
        "hint: shiplift resume goes on\n",
    )
    assert spec(client)["paused"] is True
    assert spec(client)["target"] == "v1.36.3"
    assert run("resume") == (
        0,
        "resumed: workloads move again as their turn comes\nhint: shiplift status -w shows how it goes\n",
    )
    assert not spec(client).get("paused")


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        (("pause",), {"paused": True}, "it was paused already\n"),
        (("resume",), {}, "it was not paused\n"),
        (("abort", "--yes"), {"abort": True}, "it was aborted already\n"),
    ],
)
def test_said_twice_it_changes_nothing(
    run: Run, migrate: Migrate, client: Client, words: tuple[str, ...], given: dict[str, Any], said: str
) -> None:
    before = migrate(MOVING, **given)
    assert run(*words) == (0, said)
    after = client.get(WORKLOAD_MIGRATION, "cluster")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_abort_stops_it_and_says_what_becomes_of_things(run: Run, migrate: Migrate, client: Client) -> None:
    migrate(MOVING, paused=True)
    assert run("abort", "--yes") == (
        0,
        "aborted: nothing more is evicted, what was changed is undone, workloads stay where they are\n"
        "hint: shiplift status -w shows how it goes; without an operator, shiplift undo does that\n",
    )
    assert spec(client) == {"paused": True, "abort": True} | {
        key: value for key, value in spec(client).items() if key not in ("paused", "abort")
    }


def test_a_move_that_has_ended_is_not_aborted(run: Run, migrate: Migrate, client: Client) -> None:
    migrate({"observedGeneration": 1}, target="v1.36.3")
    assert run("abort", "--yes") == (
        0,
        "there is nothing to abort: nothing is being moved, and nothing of ours is left\n"
        "hint: shiplift pause keeps another move from beginning\n",
    )
    assert not spec(client).get("abort")


def test_abort_is_never_taken_for_granted_where_nobody_can_be_asked(
    run: Run, migrate: Migrate, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(MOVING)
    with open(os.devnull) as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        assert run("abort") == (
            1,
            "error: nobody is here to confirm it\nhint: shiplift abort --yes asks nothing\n",
        )
    assert not spec(client).get("abort")


@pytest.mark.parametrize(("answer", "code", "aborted"), [("y", 0, True), ("", 1, False), ("n", 1, False)])
def test_on_a_terminal_abort_asks(
    api_server: Cluster, migrate: Migrate, client: Client, answer: str, code: int, aborted: bool
) -> None:
    migrate(MOVING)
    command = [*SHIPLIFT, "abort", "--kubeconfig", str(api_server.kubeconfig)]
    with Terminal(command, os.environ) as terminal:
        terminal.read_until("abort the move to v1.36.3? 1 of 3 workloads have moved [y/N] ")
        terminal.press(f"{answer}\n")
        assert terminal.wait() == code
    assert spec(client).get("abort", False) is aborted


@pytest.mark.parametrize(
    ("word", "said"),
    [("pause", "it is aborted: there is nothing to pause"), ("resume", "it is aborted, not paused")],
)
def test_what_is_aborted_is_neither_paused_nor_resumed(
    run: Run, migrate: Migrate, client: Client, word: str, said: str
) -> None:
    migrate(MOVING, abort=True, paused=word == "resume")
    before = generation(client)
    code, words = run(word)
    assert code == 1
    assert words.startswith(f"error: {said}\nhint: `shiplift migrate --to VERSION` starts again ")
    assert generation(client) == before


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("pause",), "shiplift migrate --to VERSION --paused makes one that waits"),
        (("resume",), "shiplift migrate --to VERSION makes one"),
        (("abort", "--yes"), "shiplift undo takes back what an earlier one has left"),
    ],
)
def test_without_a_migration_it_is_told_what_to_do_instead(
    run: Run, words: tuple[str, ...], hint: str
) -> None:
    message = f"there is nothing to {words[0]}: there is no WorkloadMigration in this cluster"
    assert run(*words) == (1, f"error: {message}\nhint: {hint}\n")


def test_an_operator_that_writes_meanwhile_is_no_obstacle(
    run: Run, migrate: Migrate, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first patch meets a newer version of the object: a status was written in between."""
    migrate(MOVING)
    send, refused = Client.patch, []

    def after_a_status_was_written(self: Client, *words: Any, **more: Any) -> Any:
        if not refused:
            migrate(MOVING | {"message": "something new"})
        try:
            return send(self, *words, **more)
        except Conflict as conflict:
            refused.append(conflict)
            raise

    monkeypatch.setattr(Client, "patch", after_a_status_was_written)
    code, _ = run("pause")
    assert (code, len(refused)) == (0, 1)
    assert spec(client)["paused"] is True
    assert client.get(WORKLOAD_MIGRATION, "cluster")["status"]["message"] == "something new"


def test_release_without_all_says_what_all_does(run: Run) -> None:
    code, said = run("release")
    assert code == 1
    assert said.startswith("error: release undoes everything or nothing\nhint: shiplift undo aborts ")
