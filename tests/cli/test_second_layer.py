"""A second layer is in every command as soon as it is among the layers; nothing else is changed for it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from shiplift.face.alerts import Alert
from shiplift.face.parts import DemoPart, ExplainPart, Face, StatusPart
from shiplift.facts.kinds import DEPLOYMENT, NODE_ROLLOUT
from shiplift.kube.client import Client
from shiplift.kube.part import LayerPart
from shiplift.local.cluster import Cluster
from shiplift.operator import layers
from shiplift.operator.layers import LAYERS, Layers
from tests.cli.conftest import Migrate
from tests.cli.test_explain import workload

main = importlib.import_module("shiplift.cli.main")
BOTH = Layers({"workloads": "shiplift.workloads", "toy": "tests.toy"})
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "LAYERS", BOTH)


@pytest.fixture
def run(both: None, api_server: Cluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, str, str]:
        code = main.run([*words, "--kubeconfig", str(api_server.kubeconfig)])
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def rollout(client: Client) -> Iterator[str]:
    client.create(NODE_ROLLOUT, {"metadata": {"name": "one"}, "spec": {"version": "v1.36.3"}})
    yield "one"
    for left in client.list(NODE_ROLLOUT):
        client.delete(NODE_ROLLOUT, left["metadata"]["name"], uid=left["metadata"]["uid"])


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_has_its_two_doors_and_all_of_its_parts_are_there(name: str) -> None:
    part, face = LAYERS[name], LAYERS.face(name)
    assert isinstance(part, LayerPart)
    assert part.name == name
    assert isinstance(face, Face)
    for loaded, wanted in (
        (face.status_part(), StatusPart),
        (face.explain_part(), ExplainPart),
        (face.demo_part(), DemoPart),
    ):
        assert loaded is None or isinstance(loaded, wanted)
    assert face.undo_part() is None or callable(face.undo_part())
    assert all(isinstance(one, Alert) for one in face.alert_part())


def test_each_layer_that_has_something_to_tell_has_a_section(
    run: Run, migrate: Migrate, rollout: str
) -> None:
    assert run("status") == (0, "Toy  1 rollouts\n", "")
    migrate()
    code, said, _ = run("status")
    assert code == 0
    assert said.startswith("Workloads  not begun\n")
    assert said.endswith("\n\nToy  1 rollouts\n")


def test_where_no_layer_has_anything_to_tell_it_says_how_to_begin(run: Run) -> None:
    code, said, errors = run("status")
    assert (code, said) == (1, "")
    assert errors == (
        "error: there is no WorkloadMigration or NodeRollout in this cluster\n"
        "hint: WorkloadMigration: shiplift migrate --to VERSION makes one; NodeRollout: make one\n"
    )


def test_each_layer_that_understands_a_word_explains_it(
    run: Run, client: Client, space: Callable[[str], str], rollout: str
) -> None:
    assert run("explain", "rollout/one") == (0, "Toy  rollout one of 1 rollouts\n", "")
    made = workload("spinner", 1)
    del made["spec"]["serviceName"]
    client.create(DEPLOYMENT, made, space("toys"))
    code, said, _ = run("explain", "deploy/spinner", "-n", "toys")
    assert code == 0
    assert said.startswith("Deployment  toys/spinner, 0 of 1 pods ready\n")
    assert said.endswith("\n\nToy  deploy spinner of 1 rollouts\n")


def test_what_one_layer_does_not_find_another_may(run: Run, rollout: str) -> None:
    assert run("explain", "deploy/nowhere", "-n", "toys") == (0, "Toy  deploy nowhere of 1 rollouts\n", "")
    assert run("explain", "rollout/two") == (
        1,
        "",
        "error: there is no rollout two\nhint: there are others\n",
    )


def test_what_no_layer_understands_is_answered_with_what_all_of_them_do(run: Run) -> None:
    assert run("explain", "ds/agent") == (
        1,
        "",
        "error: 'ds' is no kind of workload that is moved, nor of toy\n"
        "hint: deploy/NAME, sts/NAME, pod/NAME or rollout/NAME, and -n NAMESPACE\n",
    )


def test_one_layer_alone_can_be_undone(run: Run, migrate: Migrate, client: Client, rollout: str) -> None:
    migrate()
    assert run("undo", "--yes", "--layers", "toy") == (0, "", "delete rollout one\ndone: 1 change\n")
    assert list(client.list(NODE_ROLLOUT)) == []
    assert run("undo", "--layers", "toys")[2] == (
        "error: there is no layer 'toys'\nhint: layers: workloads, toy\n"
    )


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main.run(words) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


@pytest.mark.usefixtures("both")
def test_what_is_installed_for_a_layer_can_be_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert BOTH["toy"].custom_kinds == (NODE_ROLLOUT,)
    [crd] = printed(capsys, "crds", "--layers", "toy")
    assert crd["metadata"] == {"name": "noderollouts.shiplift.dev"}
    assert len(printed(capsys, "crds", "--layers", "toy,workloads")) == 4
    assert len(printed(capsys, "crds", "--layers", "toy", "--kind", "wo")) == 2
    role = printed(capsys, "manifests", "--layers", "toy", "--kubernetes", "1.36")[2]
    assert role["rules"][-1]["resources"] == ["noderollouts"]


@pytest.mark.usefixtures("both")
def test_alerts_are_those_of_the_operator_and_of_each_layer(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*words: str) -> list[str]:
        [manifest] = printed(capsys, "alerts", *words)
        return [rule["alert"] for rule in manifest["spec"]["groups"][0]["rules"]]

    alone, every = names("--layers", "toy"), names()
    assert alone[:2] == ["ToyBroken", "ShipliftNotActing"], "the most urgent first"
    assert {"ToyBroken", "ShipliftMigrationBlocked", "ShipliftOperatorGone"} <= set(every)
    assert "ShipliftMigrationBlocked" not in alone


def test_what_only_shows_a_layer_does_not_import_what_runs_it() -> None:
    """That is what keeps `shiplift status` fast."""
    code = (
        "import sys; from shiplift.cli.sections import parts_of_layers; parts_of_layers();"
        "print(*sys.modules, file=sys.stderr)"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    imported = set(asked.stderr.split())
    assert "shiplift.workloads.face.status" in imported
    assert not imported & {
        "shiplift.workloads.controller",
        "shiplift.workloads.decide",
        "shiplift.kube.store",
    }
