"""The Helm chart as helm renders it: the same as `shiplift manifests`, and good for a real API server."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import shiplift
from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, NAMESPACE, POD, SERVICE_ACCOUNT
from shiplift.kube.errors import NotFound
from shiplift.kube.served import by_version, told_apart
from shiplift.local.cluster import Cluster
from shiplift.operator import alerts, inside
from shiplift.operator.chart.template import identity, rights_apart
from shiplift.operator.inside import Inside
from shiplift.operator.layers import LAYERS, chosen, faces
from tests import helm
from tests.operator.test_chart import CHART

Json = dict[str, Any]
SPACE = "ship-space"
IMAGE = f"registry.example/shiplift:{shiplift.__version__}"
_RIGHTS = ("rules", "resourceRules")
_UNORDERED = (*_RIGHTS, "egress")
SUBSETS = [
    list(some)
    for number in (1, 2, len(LAYERS) - 1, len(LAYERS))
    for some in itertools.combinations(LAYERS, number)
]
"""Each alone, each with each other, all but one, all."""


class Helm:
    def __init__(self, home: Path) -> None:
        self._home = home

    def run(self, *words: str | Path) -> tuple[int, str, str]:
        done = helm.run(*words, home=self._home)
        return done.returncode, done.stdout, done.stderr

    def rendered(self, values: Json, *more: str) -> list[Json]:
        return [one for one in self.with_tests(values, *more) if "helm.sh/hook" not in annotations(one)]

    def with_tests(self, values: Json, *more: str) -> list[Json]:
        code, out, err = self.run("template", "shiplift", CHART, *self._common(values), *more)
        assert code == 0, err
        return [one for one in yaml.safe_load_all(out) if one]

    def refused(self, values: Json) -> str:
        code, _, err = self.run("template", "shiplift", CHART, *self._common(values))
        assert code != 0
        return err

    def _common(self, values: Json) -> list[str | Path]:
        said = self._home / "values.json"
        said.write_text(json.dumps(values))
        return ["--namespace", SPACE, "--kube-version", "1.36.0", "-f", said]


def annotations(manifest: Json) -> Json:
    return manifest["metadata"].get("annotations") or {}


@pytest.fixture
def charts(tmp_path: Path, programs: object) -> Helm:
    """Helm takes minutes to build: like a cluster."""
    return Helm(tmp_path)


def normal(value: Any, key: str = "") -> Any:
    """Rights taken apart, what has no order in order, what is empty left out."""
    if isinstance(value, dict):
        made = {name: normal(one, name) for name, one in value.items()}
        return {name: one for name, one in made.items() if one not in ([], {}, None)}
    if isinstance(value, list):
        parts = [one for entry in value for one in rights_apart(entry)] if key in _RIGHTS else value
        found = [normal(one) for one in parts]
        return sorted({json.dumps(one, sort_keys=True) for one in found}) if key in _UNORDERED else found
    return value


def by_identity(manifests: list[Json]) -> dict[Any, Any]:
    found = {identity(one): normal(one) for one in manifests}
    assert len(found) == len(manifests)
    return found


def printed(layers: list[str], version: str = "1.36", *, templates: bool = False, **more: Any) -> list[Json]:
    settings = Inside(image=IMAGE, **more)
    wanted = inside.manifests(SPACE, chosen(layers), settings, templates=templates)
    known, _ = told_apart(wanted, by_version(version).knows)
    return [dict(one) for one in known if one["kind"] != "Namespace"]


@pytest.mark.parametrize("layers", SUBSETS, ids=",".join)
def test_the_chart_has_what_the_manifests_have_for_any_layers(charts: Helm, layers: list[str]) -> None:
    found = charts.rendered({"layers": layers, "crds": {"install": False}})
    assert by_identity(found) == by_identity(printed(layers))


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"replicas": 1}, {"replicas": 1}),
        ({"podTemplates": True}, {"templates": True}),
        ({"networkPolicy": {"apiPorts": [8443]}}, {"api_ports": (8443,)}),
    ],
)
def test_values_say_the_same_as_options(charts: Helm, values: Json, settings: Json) -> None:
    found = charts.rendered(values | {"crds": {"install": False}})
    assert by_identity(found) == by_identity(printed(list(LAYERS), **settings))


def test_an_older_server_gets_no_policies_that_it_does_not_know(charts: Helm) -> None:
    found = charts.rendered({"crds": {"install": False}}, "--kube-version", "1.33.4")
    assert by_identity(found) == by_identity(printed(list(LAYERS), "1.33"))


@pytest.mark.parametrize("layers", [["policy"], ["nodes", "workloads"]], ids=",".join)
def test_the_crds_of_the_layers_come_with_it_and_are_kept(charts: Helm, layers: list[str]) -> None:
    found = [
        one for one in charts.rendered({"layers": layers}) if one["kind"] == CUSTOM_RESOURCE_DEFINITION.kind
    ]
    kinds_ = sorted({kind for part in chosen(layers) for kind in part.custom_kinds})
    assert {one["metadata"]["annotations"]["helm.sh/resource-policy"] for one in found} == {"keep"}
    bare = [one | {"metadata": {"name": one["metadata"]["name"]}} for one in found]
    assert bare == [crd.manifest(kind) for kind in kinds_]


def test_monitoring_is_there_where_it_is_asked_for(charts: Helm) -> None:
    metrics = {"serviceMonitor": True, "alerts": True, "dashboard": True, "labels": {"release": "prometheus"}}
    values = {"layers": ["nodes"], "crds": {"install": False}, "metrics": metrics}
    before = by_identity(printed(["nodes"]))
    more = {one["kind"]: one for one in charts.rendered(values) if identity(one) not in before}
    assert set(more) == {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
    assert more["ServiceMonitor"]["metadata"]["labels"] == {"release": "prometheus"}
    wanted = alerts.manifest(SPACE, faces(["nodes"]).values())
    said = {one["alert"] for one in more["PrometheusRule"]["spec"]["groups"][0]["rules"]}
    assert said == {one["alert"] for one in wanted["spec"]["groups"][0]["rules"]}
    assert json.loads(more["ConfigMap"]["data"]["shiplift.json"])["title"] == "shiplift"


def test_an_image_by_digest_and_a_namespace_of_digits_alone(charts: Helm) -> None:
    values = {"image": {"repository": "localhost:5000/x", "digest": f"sha256:{'a' * 64}"}}
    found = charts.rendered(values, "--namespace", "123")
    [deployment] = [one for one in found if one["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "123"
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"localhost:5000/x@sha256:{'a' * 64}"
    assert container["args"][:3] == ["operator", "--namespace", "123"]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"layer": ["nodes"]}, "layer"),
        ({"layers": ["node"]}, "layers"),
        ({"layers": []}, "layers"),
        ({"replicas": 0}, "replicas"),
        ({"replicas": "2"}, "replicas"),
        ({"image": {"repository": ""}}, "repository"),
        ({"image": {"repository": "a b"}}, "repository"),
        ({"image": {"digest": "sha256:1"}}, "digest"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"resources": {"limits": {"memoy": "1Gi"}}}, "memoy"),
        ({"networkPolicy": {"apiPorts": [0]}}, "apiPorts"),
        ({"metrics": {"serviceMonitor": "yes"}}, "serviceMonitor"),
        ({"env": [{"name": "A", "valueFrom": {}}]}, "env"),
    ],
)
def test_a_slip_in_the_values_is_an_error_that_names_it(charts: Helm, values: Json, named: str) -> None:
    assert named in charts.refused(values)


def test_helm_has_nothing_to_say_against_it(charts: Helm) -> None:
    code, out, err = charts.run("lint", "--strict", CHART)
    assert code == 0, out + err


# --- on a real server ---


def test_a_release_is_installed_upgraded_with_its_crds_and_taken_away(
    charts: Helm, private_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = private_cluster()
    there = ("--kubeconfig", cluster.kubeconfig, "--namespace", SPACE)

    def done(*words: str | Path) -> None:
        code, out, err = charts.run(*words, *there)
        assert code == 0, out + err

    with cluster.client() as client:
        restricted = inside.secured({"metadata": {"name": SPACE}})
        client.create(NAMESPACE, restricted)
        client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, SPACE)
        done("install", "shiplift", CHART)
        [asking] = [one for one in charts.with_tests({}) if one["kind"] == "Pod"]
        client.create(POD, asking, SPACE)
    newer = tmp_path / "newer"
    shutil.copytree(CHART, newer)
    crds = newer / "templates/crds.yaml"
    crds.write_text(crds.read_text().replace("- nr\n", "- nrs\n"))
    done("upgrade", "shiplift", newer, "--set", "layers={nodes,policy}", "--set", "replicas=1")
    name = "noderollouts.shiplift.dev"
    with cluster.client() as client:
        assert client.get(CUSTOM_RESOURCE_DEFINITION, name)["spec"]["names"]["shortNames"] == ["nrs"]
        assert client.get(DEPLOYMENT, "shiplift", SPACE)["spec"]["replicas"] == 1
        done("uninstall", "shiplift", "--no-hooks")
        with pytest.raises(NotFound):
            client.get(DEPLOYMENT, "shiplift", SPACE)
        assert client.get(CUSTOM_RESOURCE_DEFINITION, name)
        assert client.get(CUSTOM_RESOURCE_DEFINITION, "workloadorders.shiplift.dev")
