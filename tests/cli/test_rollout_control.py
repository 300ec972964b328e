"""`shiplift pause|resume|abort rollout/NAME` against a real API server: what they write and what they say."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from shiplift.facts.kinds import LEASE, NODE_ROLLOUT
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster

main = importlib.import_module("shiplift.cli.main")
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Run:
    """The exit code and what was said; nothing is written to stdout."""

    def command(*words: str) -> tuple[int, str]:
        code = main.run([*words, "--kubeconfig", str(api_server.kubeconfig)])
        said = capsys.readouterr()
        assert said.out == ""
        return code, said.err

    return command


@pytest.fixture
def rollout(client: Client) -> Iterator[str]:
    body = {"metadata": {"name": "one"}, "spec": {"version": "v1.36.3"}}
    uid = client.create(NODE_ROLLOUT, body).object["metadata"]["uid"]
    yield "rollout/one"
    client.delete(NODE_ROLLOUT, "one", uid=uid)


def spec(client: Client) -> dict[str, Any]:
    return client.get(NODE_ROLLOUT, "one")["spec"]


def tell(client: Client, *nodes: dict[str, str], **more: str) -> None:
    about = client.get(NODE_ROLLOUT, "one")["metadata"]
    status = {"nodes": list(nodes), "progress": {"done": 1, "total": 3, "summary": "1/3"}, **more}
    client.patch(
        NODE_ROLLOUT,
        "one",
        {"status": status},
        uid=about["uid"],
        resource_version=about["resourceVersion"],
        subresource="status",
    )


def test_pause_and_resume_say_what_happens_now(run: Run, rollout: str, client: Client) -> None:
    tell(
        client,
        {"name": "b", "uid": "u1", "state": "Failed"},
        {"name": "a", "uid": "u2", "state": "Draining"},
    )
    assert run("pause", rollout) == (
        0,
        "paused: nodes in flight (a) are finished; no more are begun\n"
        "hint: shiplift resume rollout/one goes on, and tries again what has failed\n",
    )
    assert spec(client)["paused"]
    assert run("pause", rollout) == (0, "it was paused already\n")
    assert run("resume", "nr/one")[0] == 0
    assert not spec(client).get("paused", False)
    tell(client)
    assert run("resume", rollout) == (0, "it was not paused, and nothing of it has failed\n")


def test_abort_asks_first_and_cannot_be_taken_back(run: Run, rollout: str, client: Client) -> None:
    tell(client)
    code, said = run("abort", rollout)
    assert code != 0
    assert "shiplift abort rollout/one --yes" in said
    assert not spec(client).get("abort", False)
    assert run("abort", rollout, "--yes")[0] == 0
    assert spec(client)["abort"]
    assert run("abort", rollout, "--yes") == (0, "it was aborted already\n")
    for verb in ("pause", "resume"):
        code, said = run(verb, rollout)
        assert code == 1
        assert "NodeRollout one is aborted" in said


def test_a_rollout_that_is_not_there_is_answered_with_those_that_are(run: Run, rollout: str) -> None:
    assert run("pause", "rollout/two") == (
        1,
        "error: there is no NodeRollout two\nhint: NodeRollouts that there are: one\n",
    )


@pytest.mark.parametrize("what", ["one", "deploy/one", "rollout/"])
def test_what_cannot_be_taken_in_hand_is_named(run: Run, what: str) -> None:
    code, said = run("pause", what)
    assert code == 1
    assert f"error: {what!r} is nothing that can be paused" in said


@pytest.mark.parametrize("words", [("pause",), ("resume",), ("abort", "--yes")])
def test_without_a_name_a_rollout_that_is_under_way_is_named(
    run: Run, rollout: str, words: tuple[str, ...], client: Client
) -> None:
    before = client.get(NODE_ROLLOUT, "one")["metadata"]["resourceVersion"]
    assert run(*words) == (
        1,
        f"error: no upgrade and no move of workloads is under way, but {rollout}\n"
        f"hint: shiplift {words[0]} {rollout}\n",
    )
    assert client.get(NODE_ROLLOUT, "one")["metadata"]["resourceVersion"] == before


def test_a_rollout_that_is_over_is_not_meant(run: Run, rollout: str, client: Client) -> None:
    tell(client, phase="Complete")
    code, said = run("pause")
    assert code == 1
    assert "there is no WorkloadMigration" in said


@pytest.mark.parametrize("verb", ["pause", "resume", "abort"])
def test_help_says_of_what_a_reason_is_written_down(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    main.run([verb, "--help"])
    assert "of an upgrade only" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("holder", "noted"), [("", True), ("somebody", False)])
def test_where_no_operator_runs_that_is_said(
    run: Run, rollout: str, client: Client, space: Callable[[str], str], holder: str, noted: bool
) -> None:
    lease = {"metadata": {"name": "shiplift"}, "spec": {"renewTime": f"{datetime.now(UTC):%FT%T.%fZ}"}}
    lease["spec"] |= {"holderIdentity": holder} if holder else {}
    made = client.create(LEASE, lease, space("shiplift-system")).object["metadata"]
    try:
        code, said = run("pause", rollout)
    finally:
        client.delete(LEASE, "shiplift", "shiplift-system", uid=made["uid"])
    assert code == 0
    assert ("note: no operator runs, and what was asked for is done by one" in said) is noted
