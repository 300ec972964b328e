"""What OLM has installed is read from its ClusterServiceVersions, on a real API server."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, OPERATOR_VERSION
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.operators import olm
from tests.cli.test_catalog import EXAMPLE
from tests.operators.crds.test_existing_live import served

main = importlib.import_module("shiplift.cli.main")
Json = dict[str, Any]


def define(client: Client) -> None:
    kind = olm.CLUSTER_SERVICE_VERSION
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind.kind, "plural": kind.plural}
    spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    name = f"{kind.plural}.{kind.group}"
    client.create(CUSTOM_RESOURCE_DEFINITION, {"metadata": {"name": name}, "spec": spec})
    served(client, kind)


def install(client: Client, name: str, version: Any, namespace: str = "ops", **labels: str) -> None:
    install = {"strategy": "deployment"}
    body = {
        "metadata": {"name": name, "labels": {key.replace("_", "."): value for key, value in labels.items()}},
        "spec": {"version": version, "minKubeVersion": "1.30.0", "install": install},
    }
    client.create(olm.CLUSTER_SERVICE_VERSION, body, namespace)


def check(cluster: Cluster) -> list[str]:
    """The command, but for the version of Kubernetes."""
    asked = ["--cluster", "--kubeconfig", str(cluster.kubeconfig), "--kubernetes"]
    return ["catalog", "check", EXAMPLE, *asked]


def test_operators_that_olm_runs_are_checked(
    private_cluster: Callable[..., Cluster], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = private_cluster()
    words = check(cluster)
    assert main.run([*words, "1.36"]) == 1
    assert "neither ClusterServiceVersions of OLM nor OperatorVersions of ours" in capsys.readouterr().err
    with cluster.client() as client:
        define(client)
        for namespace in ("ops", "shop"):
            client.create(NAMESPACE, {"metadata": {"name": namespace}})
        install(client, "lighthouse.v1.0.0", "1.0.0")
        install(client, "lighthouse.v1.0.0", "1.0.0", "shop", olm_copiedFrom="ops")
        install(client, "ferry.v3.0.0", "3.0.0")
        install(client, "raft.v1", 1)
        found = olm.installed(client)
    named = [(one.namespace, one.bundle.name, bool(one.unreadable)) for one in found]
    assert named == [
        ("ops", "ferry.v3.0.0", False),
        ("ops", "lighthouse.v1.0.0", False),
        ("ops", "raft.v1", True),
    ]
    assert main.run([*words, "1.36"]) == 1
    said = capsys.readouterr()
    assert [line.split()[:3] for line in said.out.splitlines()[1:]] == [
        ["ops", "lighthouse", "1.0.0"],
        ["ops", "raft.v1", "-"],
    ]
    assert "upgrade to 1.1.0" in said.out
    assert "cannot be read: Expected `str | null`, got `int`" in said.out
    assert "error: 2 of 3 operators cannot run on Kubernetes 1.36" in said.err
    assert main.run([*words, "1.29"]) == 1
    said = capsys.readouterr()
    assert [line.split()[1] for line in said.out.splitlines()[1:]] == ["ferry.v3.0.0", "raft.v1"]
    assert "not in this catalog" in said.out


def test_operators_that_we_run_ourselves_are_checked(
    private_cluster: Callable[..., Cluster], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = private_cluster()
    words = check(cluster)
    with cluster.client() as client:
        client.create(CUSTOM_RESOURCE_DEFINITION, crd.manifest(OPERATOR_VERSION))
        served(client, OPERATOR_VERSION)
        client.create(NAMESPACE, {"metadata": {"name": "ops"}})
        for name, most in (("lighthouse", None), ("ferry", "1.35.9"), ("raft", None)):
            spec = {
                "appType": name,
                "package": name,
                "version": "1.0.0",
                "installStrategy": {"deployments": [{"name": name, "spec": {}}]},
                **({"maxKubernetesVersion": most} if most else {}),
            }
            client.create(OPERATOR_VERSION, {"metadata": {"name": f"{name}.v1.0.0"}, "spec": spec}, "ops")
    assert main.run([*words, "1.36"]) == 1
    said = capsys.readouterr()
    assert [line.split()[:2] for line in said.out.splitlines()[1:]] == [
        ["ops", "ferry.v1.0.0"],
        ["ops", "lighthouse"],
    ]
    assert "error: 2 of 3 operators cannot run on Kubernetes 1.36" in said.err
    assert main.run([*words, "1.35"]) == 0
