"""`shiplift undo` against a real API server: what a dead operator left is undone, line by line."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shiplift.api import crd, marks
from shiplift.api.placements import PLACEMENT
from shiplift.cli import access
from shiplift.engine.contested import Memory
from shiplift.engine.step import Outcome, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Invalid, NotFound
from shiplift.local.cluster import Cluster
from shiplift.operator import layers
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.memory import InForce
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.steps import HoldBudget
from tests.api.api_server import wait_established
from tests.until import until

main = importlib.import_module("shiplift.cli.main")
TARGET = "v1.36.3"
Undo = Callable[..., tuple[int, str]]


@pytest.fixture
def alone(private_cluster: Callable[[], Cluster]) -> Cluster:
    """A cluster of this test's own: everything in it will be undone."""
    cluster = private_cluster()
    with cluster.client() as client:
        for manifest in crd.manifests():
            client.create(kinds.CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
    return cluster


@pytest.fixture
def client(alone: Cluster) -> Iterator[Client]:
    with alone.client() as client:
        yield client


@pytest.fixture
def undo(alone: Cluster, capsys: pytest.CaptureFixture[str]) -> Undo:
    def run(*words: str) -> tuple[int, str]:
        code = main.run([*(words or ["undo", "--yes"]), "--kubeconfig", str(alone.kubeconfig)])
        said = capsys.readouterr()
        assert said.out == ""
        return code, said.err

    return run


def gone(client: Client, kind: Kind, name: str, namespace: str) -> bool:
    try:
        return bool(client.get(kind, name, namespace)["metadata"].get("deletionTimestamp"))
    except NotFound:
        return True


def leave_behind(client: Client) -> None:
    """What an operator that died half-way has left."""
    labels = {marks.TARGET_LABEL: TARGET, "theirs": "stays"}
    client.create(kinds.NODE, {"metadata": {"name": "new-1", "labels": labels}})
    client.create(kinds.NODE, {"metadata": {"name": "old-1", "labels": {marks.OFF_TARGET_LABEL: TARGET}}})
    placement = {"metadata": {"name": PLACEMENT}, "spec": {"target": TARGET, "turns": {}}}
    client.create(kinds.WORKLOAD_PLACEMENT, placement, "default")
    budgets = kinds.POD_DISRUPTION_BUDGET
    selector = {"matchLabels": {"app": "web"}}
    ours = {
        "metadata": {"name": "shiplift-hold-deployment-web", "labels": {marks.MANAGED_BY: marks.MANAGER}},
        "spec": {"maxUnavailable": 0, "selector": selector},
    }
    client.create(budgets, ours, "default")
    theirs = {"metadata": {"name": "theirs"}, "spec": {"minAvailable": 2, "selector": selector}}
    uid = client.create(budgets, theirs, "default").object["metadata"]["uid"]
    hold = HoldBudget(WorkloadId("Deployment", "default", "web"), "theirs", uid)
    assert Actor(client, InForce(), Memory()).act(hold).ok
    client.create(kinds.WORKLOAD_MIGRATION, {"metadata": {"name": "cluster"}, "spec": {"target": TARGET}})


def test_all_that_a_dead_operator_left_is_undone(client: Client, undo: Undo) -> None:
    leave_behind(client)
    code, said = undo()
    assert code == 0, said
    assert said.splitlines()[0] == "the migration is aborted, so that no operator begins again"
    assert said.splitlines()[-1].startswith("done: ")
    for named in ("node new-1", "node old-1", "shiplift-hold-deployment-web", "theirs", "default"):
        assert any(named in line for line in said.splitlines()[1:-1]), said

    assert client.get(kinds.WORKLOAD_MIGRATION, "cluster")["spec"]["abort"] is True
    assert client.get(kinds.NODE, "new-1")["metadata"]["labels"] == {"theirs": "stays"}
    assert not client.get(kinds.NODE, "old-1")["metadata"].get("labels")
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")
    assert gone(client, kinds.POD_DISRUPTION_BUDGET, "shiplift-hold-deployment-web", "default")
    theirs = client.get(kinds.POD_DISRUPTION_BUDGET, "theirs", "default")
    assert theirs["spec"]["minAvailable"] == 2
    assert not theirs["metadata"].get("annotations")


def test_after_its_old_name_there_is_nothing_left_to_do(client: Client, undo: Undo) -> None:
    leave_behind(client)
    undo("release", "--all", "--yes")
    assert undo() == (0, "nothing of ours was left to undo\n")


def test_what_somebody_changed_meanwhile_stays_and_is_named(client: Client, undo: Undo) -> None:
    leave_behind(client)
    live = client.get(kinds.POD_DISRUPTION_BUDGET, "theirs", "default")
    about = live["metadata"]
    client.patch(
        kinds.POD_DISRUPTION_BUDGET,
        "theirs",
        {"spec": {"minAvailable": "50%"}},
        "default",
        uid=about["uid"],
        resource_version=about["resourceVersion"],
    )
    code, said = undo()
    assert code == 0, said
    assert client.get(kinds.POD_DISRUPTION_BUDGET, "theirs", "default")["spec"]["minAvailable"] == "50%"
    assert any("theirs" in line and "minAvailable" in line for line in said.splitlines()), said


def test_it_works_without_a_migration(client: Client, undo: Undo) -> None:
    leave_behind(client)
    found = client.get(kinds.WORKLOAD_MIGRATION, "cluster")
    client.delete(kinds.WORKLOAD_MIGRATION, "cluster", uid=found["metadata"]["uid"])
    code, said = undo()
    assert code == 0, said
    assert "aborted" not in said
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")


HELD = {
    "state": "Upgrade",
    "target": TARGET,
    "message": "2 of 2 workloads left to move",
    "workloads": [
        {"kind": "Deployment", "namespace": "default", "name": name, "state": state, "uid": name}
        for name, state in (("web", "Held"), ("db", "Blocked"))
    ],
}


def test_the_status_is_not_left_at_held_and_blocked(client: Client, undo: Undo) -> None:
    leave_behind(client)
    found = client.get(kinds.WORKLOAD_MIGRATION, "cluster")
    client.update(kinds.WORKLOAD_MIGRATION, found | {"status": HELD}, subresource="status")
    code, said = undo()
    assert code == 0, said
    status = client.get(kinds.WORKLOAD_MIGRATION, "cluster")["status"]
    assert "workloads" not in status
    assert status.get("state", "NoUpgrade") == "NoUpgrade"
    (ready,) = [one for one in status["conditions"] if one["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "Aborted")


def test_a_migration_that_was_deleted_without_an_operator_is_seen_through(client: Client, undo: Undo) -> None:
    leave_behind(client)
    uid = client.get(kinds.WORKLOAD_MIGRATION, "cluster")["metadata"]["uid"]
    guarded = {"metadata": {"finalizers": ["example.com/theirs", FINALIZER]}}
    client.patch(kinds.WORKLOAD_MIGRATION, "cluster", guarded, uid=uid)
    client.delete(kinds.WORKLOAD_MIGRATION, "cluster", uid=uid)
    code, said = undo()
    assert code == 0, said
    assert "take our finalizer off WorkloadMigration cluster: ok" in said
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")
    left = client.get(kinds.WORKLOAD_MIGRATION, "cluster")["metadata"]["finalizers"]
    assert left == ["example.com/theirs"]
    client.patch(kinds.WORKLOAD_MIGRATION, "cluster", {"metadata": {"finalizers": None}}, uid=uid)
    until(lambda: not list(client.list(kinds.WORKLOAD_MIGRATION)))


def test_a_migration_that_somebody_starts_meanwhile_is_an_error_that_says_so(
    client: Client, undo: Undo, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_behind(client)
    act = Actor.act

    def start_again(actor: Actor, step: Step) -> Outcome:
        uid = client.get(kinds.WORKLOAD_MIGRATION, "cluster")["metadata"]["uid"]
        again = {"spec": {"abort": False, "target": "v1.37.0"}}
        client.patch(kinds.WORKLOAD_MIGRATION, "cluster", again, uid=uid)
        return act(actor, step)

    monkeypatch.setattr(Actor, "act", start_again)
    code, said = undo()
    assert code == 1, said
    error, hint = said.splitlines()[-2:]
    assert error.startswith("error: WorkloadMigration cluster was started again while it was undone")
    assert hint.startswith("hint: `shiplift undo` aborts and undoes it again")


def loosen(client: Client, kind: Kind) -> None:
    """Any object of the kind fits, as where another version of its CRD is installed."""
    name = f"{kind.plural}.{kind.group}"
    found = client.get(kinds.CUSTOM_RESOURCE_DEFINITION, name)
    for version in found["spec"]["versions"]:
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version["schema"] = {"openAPIV3Schema": anything}
    patch = {"spec": {"versions": found["spec"]["versions"]}}
    client.patch(kinds.CUSTOM_RESOURCE_DEFINITION, name, patch, uid=found["metadata"]["uid"])


def spoil(client: Client, kind: Kind, name: str, namespace: str, spec: Any) -> None:
    """It says what this version cannot read, as soon as the API server takes that."""
    loosen(client, kind)

    def spoilt() -> bool:
        uid = client.get(kind, name, namespace)["metadata"]["uid"]
        try:
            return bool(client.patch(kind, name, {"spec": spec}, namespace, uid=uid))
        except Invalid:
            return False

    until(spoilt)


def test_a_migration_that_cannot_be_read_keeps_nothing_from_being_undone(client: Client, undo: Undo) -> None:
    leave_behind(client)
    spoil(client, kinds.WORKLOAD_MIGRATION, "cluster", "", {"mode": "Teleport"})
    code, said = undo()
    assert code == 0, said
    assert said.splitlines()[-1].startswith("done: ")
    assert client.get(kinds.WORKLOAD_MIGRATION, "cluster")["spec"]["abort"] is True
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")
    assert client.get(kinds.POD_DISRUPTION_BUDGET, "theirs", "default")["spec"]["minAvailable"] == 2


def test_a_placement_that_cannot_be_read_is_an_error_that_names_it_and_all_else_is_undone(
    client: Client, undo: Undo
) -> None:
    leave_behind(client)
    spoil(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default", {"turns": {"Deployment.web": "Sideways"}})
    code, said = undo()
    assert code == 1, said
    error, hint = said.splitlines()[-2:]
    assert error.startswith("error: all else is undone: WorkloadPlacement default/shiplift cannot be read")
    assert hint == "hint: then run `shiplift undo` again"
    assert client.get(kinds.NODE, "new-1")["metadata"]["labels"] == {"theirs": "stays"}
    assert gone(client, kinds.POD_DISRUPTION_BUDGET, "shiplift-hold-deployment-web", "default")
    live = client.get(kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")["metadata"]
    client.delete(kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default", uid=live["uid"])
    assert undo()[0] == 0


def test_abort_works_on_a_migration_that_cannot_be_read(client: Client, undo: Undo) -> None:
    leave_behind(client)
    spoil(client, kinds.WORKLOAD_MIGRATION, "cluster", "", {"mode": "Teleport"})
    code, said = undo("abort", "--yes")
    assert code == 0, said
    assert "it can be aborted all the same" in said
    assert client.get(kinds.WORKLOAD_MIGRATION, "cluster")["spec"]["abort"] is True


@pytest.mark.parametrize("words", [("undo",), ("release", "--all")])
def test_it_asks_first_and_where_nobody_is_there_it_does_nothing(
    client: Client, undo: Undo, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_behind(client)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    code, said = undo(*words)
    assert (code, said) == (
        1,
        "error: nobody is here to confirm it\nhint: shiplift undo --yes asks nothing\n",
    )
    assert not client.get(kinds.WORKLOAD_MIGRATION, "cluster")["spec"].get("abort")


def test_what_stays_on_purpose_is_named_and_not_said_to_be_gone(client: Client, undo: Undo) -> None:
    toleration = {"key": marks.UPGRADE_TAINT, "operator": "Equal", "value": TARGET, "effect": "NoSchedule"}
    pod = {"containers": [{"name": "main", "image": "none"}], "tolerations": [toleration]}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    client.create(kinds.DEPLOYMENT, {"metadata": {"name": "web"}, "spec": spec}, "default")
    ledger = {"Deployment.web": json.dumps({"toleration": TARGET})}
    placement = {"metadata": {"name": PLACEMENT}, "spec": {"target": TARGET, "ledger": ledger}}
    client.create(kinds.WORKLOAD_PLACEMENT, placement, "default")
    undo()
    code, said = undo()
    assert code == 0
    assert said.splitlines()[0].startswith("Deployment default/web keeps an inert toleration")
    assert said.splitlines()[-1] == "nothing more to undo; 1 thing of ours stays on purpose, named above"
    assert not gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")


def test_every_layer_is_undone(client: Client, undo: Undo, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {"workloads": "shiplift.workloads", "toy": "tests.toy"}
    monkeypatch.setattr(layers, "LAYERS", layers.Layers(folders))
    leave_behind(client)
    client.create(kinds.NODE_ROLLOUT, {"metadata": {"name": "one"}, "spec": {"version": TARGET}})
    code, said = undo()
    assert code == 0, said
    assert "delete rollout one\n" in said
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")


def test_where_a_layer_was_never_installed_the_others_are_undone(
    client: Client, undo: Undo, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {"toy": "tests.toy", "workloads": "shiplift.workloads"}
    monkeypatch.setattr(layers, "LAYERS", layers.Layers(folders))
    leave_behind(client)
    forget(client, kinds.NODE_ROLLOUT)
    code, said = undo()
    assert code == 0, said
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")

    forget(client, kinds.WORKLOAD_PLACEMENT)
    assert undo() == (
        1,
        f"error: this cluster does not know WorkloadPlacements\nhint: {access.NOT_INSTALLED}\n",
    )


def test_without_a_kind_that_undoing_does_not_need_all_is_undone(client: Client, undo: Undo) -> None:
    leave_behind(client)
    forget(client, kinds.WORKLOAD_ORDER)
    code, said = undo()
    assert code == 0, said
    assert "workloadorders" not in said, "what the server does not have needs no word"
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")


def test_a_layer_of_which_only_kinds_of_others_are_known_was_never_installed(
    client: Client, undo: Undo
) -> None:
    leave_behind(client)
    for kind in (kinds.NODE_ROLLOUT, kinds.MACHINE):
        forget(client, kind)
    code, said = undo()
    assert code == 0, said
    assert gone(client, kinds.WORKLOAD_PLACEMENT, PLACEMENT, "default")


def forget(client: Client, kind: Kind) -> None:
    """The cluster no longer has that kind."""
    name = f"{kind.plural}.{kind.group}"
    found = client.get(kinds.CUSTOM_RESOURCE_DEFINITION, name)
    client.delete(kinds.CUSTOM_RESOURCE_DEFINITION, name, uid=found["metadata"]["uid"])
    until(lambda: not access.is_known(client, kind))
