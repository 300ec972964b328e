"""`shiplift manifests`: for the server that there is, and what it lacks is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shiplift.api import crd
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings

main = importlib.import_module("shiplift.cli.main")
Json = dict[str, Any]
POLICIES = (
    "MutatingAdmissionPolicy shiplift-nodes, MutatingAdmissionPolicyBinding shiplift-nodes,"
    " MutatingAdmissionPolicy shiplift-pods, MutatingAdmissionPolicyBinding shiplift-pods"
)


class Printed:
    """What the command said."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        self.code = main.run(("manifests", *words))
        self.out, self.err = capsys.readouterr()

    @property
    def manifests(self) -> list[Json]:
        return list(yaml.safe_load_all(self.out))

    def kinds(self) -> set[str]:
        return {one["kind"] for one in self.manifests}


@pytest.mark.parametrize("version", ["1.33", "v1.34.2", "1.35"])
def test_what_an_older_server_does_not_know_is_left_out_and_named(
    capsys: pytest.CaptureFixture[str], version: str
) -> None:
    found = Printed(capsys, "--kubernetes", version)
    assert found.code == 0
    assert not [kind for kind in found.kinds() if kind.startswith("Mutating")]
    left_out, hint = found.err.splitlines()
    minor = ".".join(version.lstrip("v").split(".")[:2])
    assert left_out == f"left out, because Kubernetes {minor} does not serve it: {POLICIES}"
    assert hint.startswith("hint: mode Inject needs them, in Kubernetes 1.36 and newer; mode Template")
    assert hint.endswith(", and takes `--template` beside the options of this command")
    _, hint = Printed(capsys, "--kubernetes", version, "--template").err.splitlines()
    assert hint.endswith("mode Template moves workloads without them")


def test_layers_may_be_written_as_people_write_lists(capsys: pytest.CaptureFixture[str]) -> None:
    spellings = [
        ("nodes,workloads",),
        ("nodes, workloads",),
        ("nodes", "workloads"),
        ("nodes,", ",workloads"),
    ]
    found = {Printed(capsys, "--kubernetes", "1.36", "--layers", *one).out for one in spellings}
    assert len(found) == 1
    assert "" not in found


def test_a_new_server_gets_all_and_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    found = Printed(capsys, "--kubernetes", "1.36")
    assert (found.code, found.err) == (0, "")
    assert {"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"} <= found.kinds()


def test_the_right_to_change_templates_is_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    def patched(*words: str) -> set[str]:
        found = Printed(capsys, "--kubernetes", "1.36", *words).manifests
        rules = [rule for one in found if one["kind"] == "ClusterRole" for rule in one["rules"]]
        return {name for rule in rules if "patch" in rule["verbs"] for name in rule["resources"]}

    assert patched("--template") - patched() == {"deployments", "statefulsets"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kubernetes", "1.31"), "error: Kubernetes 1.31 is too old\nhint: shiplift works with 1.33 and"),
        (("--kubernetes", "new"), "error: 'new' is no version of Kubernetes\nhint: for example 1.36"),
        (("--kubeconfig", "/nowhere"), "error: no server can be asked what it knows: cannot read kubeconfig"),
    ],
)
def test_what_cannot_be_told_is_an_error_with_a_way_out(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    found = Printed(capsys, *words)
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith(said)


IMAGE = "registry.example/shiplift:0.2.0"


def test_inside_a_cluster_the_same_is_printed_and_what_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    at_hand = Printed(capsys, "--kubernetes", "1.36").manifests
    inside = Printed(capsys, "--kubernetes", "1.36", "--in-cluster", "--image", IMAGE, "--replicas", "3")
    assert (inside.code, inside.err) == (0, "")
    assert [one for one in at_hand if one not in inside.manifests] == [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shiplift-system"}}
    ]
    [deployment] = [one for one in inside.manifests if one["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    more = {"Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget", "PriorityClass"}
    assert inside.kinds() - {one["kind"] for one in at_hand} == more


def test_with_one_replica_it_says_what_that_means(capsys: pytest.CaptureFixture[str]) -> None:
    found = Printed(capsys, "--kubernetes", "1.36", "--in-cluster", "--image", IMAGE, "--replicas", "1")
    assert found.code == 0
    assert found.err.startswith("note: with one replica nothing is done while its pod moves to another node")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--in-cluster",), "error: --in-cluster needs an image\nhint: --image REGISTRY/shiplift:TAG"),
        (
            ("--in-cluster", "--image", "shiplift"),
            "error: 'shiplift' is no image with a tag or a digest: it has none\nhint:",
        ),
        (("--in-cluster", "--image", IMAGE, "--replicas", "0"), "error: 0 replicas cannot be\nhint: 1 to 9"),
        (("--in-cluster", "--image", IMAGE, "--api-port", "0"), "error: 0 is no port\nhint: --api-port 6443"),
        (
            ("--in-cluster", "--image", IMAGE, "--egress-port", "0"),
            "error: 0 is no port\nhint: --egress-port 3128",
        ),
        (("--egress-port", "3128"), "error: --egress-port is about the operator inside the cluster"),
        (("--in-cluster", "--image", IMAGE, "--user", "me"), "error: --user and --in-cluster exclude each"),
        (("--in-cluster", "--image", IMAGE, "--namespace", "A"), "error: 'A' is not the name of a namespace"),
        (
            ("--in-cluster", "--image", IMAGE, "--namespace", "kube-system"),
            "error: namespace kube-system is the cluster's, and the operator wants one of its own\nhint: --",
        ),
        (("--namespace", "Foo_Bar"), "error: 'Foo_Bar' is not the name of a namespace"),
        (("--layers", ""), "error: no layer is named by --layers"),
        (
            ("--image", IMAGE),
            "error: --image is about the operator inside the cluster\nhint: add --in-cluster",
        ),
        (("--replicas", "2"), "error: --replicas is about the operator inside the cluster"),
        (
            ("--grant", "ops/token", "--in-cluster", "--image", IMAGE),
            "error: a single right is printed alone, and --in-cluster says what else is to be printed\nhint:",
        ),
        (
            ("--hooks", "ops", "--layers", "nodes"),
            "error: a single right is printed alone, and --layers says",
        ),
        (("--catalogs", "ops", "--replicas", "0"), "error: a single right is printed alone, and --replicas"),
        (("--grant", "ops/"), "error: 'ops/' is not NAMESPACE/SECRET\nhint: for example ops/chat-token"),
        (("--account", "/x"), "error: '/x' is not NAMESPACE/ACCOUNT\nhint: for example ops/installer"),
    ],
)
def test_what_cannot_run_inside_a_cluster_is_named(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    found = Printed(capsys, "--kubernetes", "1.36", *words)
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith(said)


# --- on real servers ---


@pytest.mark.parametrize("minor", [33, 34, 35, 36])
def test_what_is_printed_applies_on_every_supported_server(
    private_cluster: Callable[..., Cluster], capsys: pytest.CaptureFixture[str], minor: int
) -> None:
    """The server is asked; and it says the same as the table for its version."""
    emulated = f"1.{minor}" if minor < 36 else ""
    cluster = private_cluster(Settings(components=API_ONLY, emulate=emulated))
    words = ("--template", "--in-cluster", "--image", IMAGE)
    asked = Printed(capsys, *words, "--kubeconfig", str(cluster.kubeconfig))
    by_table = Printed(capsys, *words, "--kubernetes", f"1.{minor}")
    assert (asked.code, asked.out, asked.err) == (0, by_table.out, by_table.err)
    with cluster.client() as client:
        for manifest in [*crd.manifests(), *asked.manifests]:
            client.create(kind_of(manifest), manifest)
    again = Printed(capsys, *words, "--kubeconfig", str(cluster.kubeconfig))
    assert (again.out, again.err) == (asked.out, asked.err)
    elsewhere = Printed(capsys, "--namespace", "team", "--kubeconfig", str(cluster.kubeconfig))
    assert (
        "note: shiplift is installed in namespace shiplift-system; what is printed takes the rights from it"
        in elsewhere.err
    )


def test_a_server_that_is_away_is_an_error_with_a_way_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    found = Printed(capsys, "--kubeconfig", str(path))
    assert (found.code, found.out) == (1, "")
    assert "hint: say its version, as in --kubernetes 1.36" in found.err
