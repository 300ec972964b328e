"""The Helm chart as helm renders it: the same as `shiplift manifests`, and good for a real API server."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import shiplift
from shiplift.api import crd
from shiplift.cli.operator import app as operator_app
from shiplift.facts.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    NAMESPACE,
    POD,
    SERVICE_ACCOUNT,
)
from shiplift.kube.errors import NotFound
from shiplift.kube.manifests import kind_of
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
KEEP = "helm.sh/resource-policy"
_RIGHTS = ("rules", "resourceRules")
_UNORDERED = (*_RIGHTS, "egress")
SUBSETS = [
    list(some)
    for number in (1, 2, len(LAYERS) - 1, len(LAYERS))
    for some in itertools.combinations(LAYERS, number)
]
"""Each alone, each with each other, all but one, all."""


_TEXTS = dict.fromkeys(("summary", "action", "severity", "description", "runbook_url"), ".+")
_SECRET = {"name": ".+", "key": ".+"}
SERVICE_MONITOR = {
    "selector": {"matchLabels": dict.fromkeys(inside.LABELS, ".+")},
    "endpoints": [
        {
            "port": ".+",
            "path": "/.+",
            "scheme": "http|https",
            "bearerTokenFile": "/.+",
            "authorization": {"credentials": _SECRET},
            "tlsConfig": {"insecureSkipVerify": bool, "serverName": ".+", "ca": {"secret": _SECRET}},
        }
    ],
}
PROMETHEUS_RULE = {
    "groups": [
        {
            "name": ".+",
            "rules": [
                {
                    "alert": "[A-Za-z]+",
                    "expr": "(?s).+",
                    "for": r"0|([0-9]+(ms|[smhdwy]))+",
                    "labels": _TEXTS,
                    "annotations": _TEXTS,
                }
            ],
        }
    ]
}
"""Fields of monitoring.coreos.com/v1 that we use: one that it does not have would be dropped in silence."""


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

    def refused(self, values: Json, *more: str) -> str:
        code, _, err = self.run("template", "shiplift", CHART, *self._common(values), *more)
        assert code != 0
        return err

    def _common(self, values: Json) -> list[str | Path]:
        said = self._home / "values.json"
        said.write_text(json.dumps(values))
        return ["--namespace", SPACE, "--kube-version", "1.36.0", "-f", said]


def annotations(manifest: Json) -> Json:
    return manifest["metadata"].get("annotations") or {}


def unkept(manifest: Json) -> Json:
    others = {key: value for key, value in annotations(manifest).items() if key != KEEP}
    return manifest | {"metadata": manifest["metadata"] | {"annotations": others}}


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
    """Without what is said to helm alone."""
    found = {identity(one): normal(unkept(one)) for one in manifests}
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
        ({"networkPolicy": {"egressPorts": [3128, 9001]}}, {"egress_ports": (3128, 9001)}),
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
    assert {annotations(one)[KEEP] for one in found} == {"keep"}
    bare = [one | {"metadata": {"name": one["metadata"]["name"]}} for one in found]
    assert bare == [crd.manifest(kind) for kind in kinds_]


def test_what_layers_keep_records_in_is_kept_when_they_go(charts: Helm) -> None:
    found = [one for one in charts.rendered({}) if one["kind"] == CONFIG_MAP.kind]
    assert {one["metadata"]["name"] for one in found} >= {"shiplift-journal", "shiplift-outbox-notify"}
    assert {annotations(one).get(KEEP) for one in found} == {"keep"}


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
    shown = json.loads(more["ConfigMap"]["data"]["shiplift.json"])
    assert shown["title"] == "shiplift"
    assert [one["title"] for one in shown["panels"] if one["type"] == "row"] == ["operator", "nodes"]
    [endpoint] = more["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint["tlsConfig"] == {"insecureSkipVerify": True}
    assert endpoint["bearerTokenFile"].endswith("/serviceaccount/token")


@pytest.mark.parametrize("secrets", [{}, {"tlsSecret": "a", "tokenSecret": "b"}], ids=["", "secrets"])
def test_monitoring_has_the_fields_that_the_prometheus_operator_has_and_no_others(
    charts: Helm, secrets: Json
) -> None:
    values = {"metrics": {"serviceMonitor": True, "alerts": True, **secrets}}
    shapes = {"ServiceMonitor": SERVICE_MONITOR, "PrometheusRule": PROMETHEUS_RULE}
    found = [one for one in charts.rendered(values) if one["kind"] in shapes]
    assert len(found) == len(shapes)
    for one in found:
        assert strangers(one["spec"], shapes[one["kind"]]) == []


def strangers(value: Any, shape: Any, path: str = "spec") -> list[str]:
    """Where it is not of that shape: a pattern for a text, a type, a list of the like, or these fields."""
    if isinstance(shape, dict) and isinstance(value, dict):
        wrong = [f"{path}.{key}" for key in value if key not in shape]
        known = [(key, one) for key, one in value.items() if key in shape]
        return [*wrong, *(bad for key, one in known for bad in strangers(one, shape[key], f"{path}.{key}"))]
    if isinstance(shape, list) and isinstance(value, list):
        return [bad for one in value for bad in strangers(one, shape[0], path)]
    if isinstance(shape, str):
        return [] if isinstance(value, str) and re.fullmatch(shape, value) else [path]
    return [] if isinstance(shape, type) and isinstance(value, shape) else [path]


def test_prometheus_verifies_a_certificate_that_somebody_can_know_and_may_prove_itself_by_a_secret(
    charts: Helm,
) -> None:
    metrics = {"serviceMonitor": True, "tlsSecret": "shiplift-tls", "tokenSecret": "prometheus-token"}
    [monitor] = [one for one in charts.rendered({"metrics": metrics}) if one["kind"] == "ServiceMonitor"]
    [endpoint] = monitor["spec"]["endpoints"]
    authority = {"secret": {"name": "shiplift-tls", "key": "ca.crt"}}
    assert endpoint["tlsConfig"] == {"serverName": f"shiplift.{SPACE}.svc", "ca": authority}
    assert endpoint["authorization"] == {"credentials": {"name": "prometheus-token", "key": "token"}}
    assert "bearerTokenFile" not in endpoint


@pytest.mark.parametrize("space", ["kube-system", "kube-tools", "default"])
def test_a_namespace_of_the_cluster_is_refused(charts: Helm, space: str) -> None:
    assert f"namespace {space} is the cluster's" in charts.refused({}, "--namespace", space)


def test_an_image_by_digest_and_a_namespace_of_digits_alone(charts: Helm) -> None:
    values = {"image": {"repository": "localhost:5000/x", "digest": f"sha256:{'a' * 64}"}}
    found = charts.rendered(values, "--namespace", "123")
    [deployment] = [one for one in found if one["kind"] == "Deployment"]
    assert deployment["metadata"]["namespace"] == "123"
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"localhost:5000/x@sha256:{'a' * 64}"
    assert container["args"][:3] == ["operator", "--namespace", "123"]


def test_a_certificate_of_the_users_own_is_mounted_and_shown(charts: Helm) -> None:
    values = {"layers": ["nodes"], "crds": {"install": False}, "metrics": {"tlsSecret": "shiplift-tls"}}
    [deployment] = [one for one in charts.rendered(values) if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["volumes"] == [{"name": "tls", "secret": {"secretName": "shiplift-tls"}}]
    assert container["volumeMounts"] == [{"name": "tls", "mountPath": "/tls", "readOnly": True}]
    assert container["args"][-1] == "--tls-folder=/tls"
    words = container["args"][1:]
    assert "tls_folder=" in str(operator_app.parse_args(words)[1])


@pytest.mark.parametrize("layers", [["nodes"], ["nodes", "quorum"]], ids=",".join)
def test_there_is_room_for_temporary_files_where_a_layer_asks_for_it(charts: Helm, layers: list[str]) -> None:
    values = {"layers": layers, "crds": {"install": False}}
    [deployment] = [one for one in charts.rendered(values) if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    asked = [one.scratch for one in chosen(layers) if one.scratch]
    assert [one["emptyDir"]["sizeLimit"] for one in pod["volumes"]] == asked
    assert [one["mountPath"] for one in container["volumeMounts"]] == ["/tmp"] * len(asked)


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
        ({"image": {"repository": "registry.example/shiplift:0.2.0"}}, "repository"),
        ({"image": {"repository": "registry.example/Shiplift"}}, "repository"),
        ({"resources": {"requests": {"memory": "1.2.3"}}}, "memory"),
        ({"tolerations": [{"operator": "Exist"}]}, "operator"),
        ({"image": {"digest": "sha256:1"}}, "digest"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"resources": {"limits": {"memoy": "1Gi"}}}, "memoy"),
        ({"networkPolicy": {"apiPorts": [0]}}, "apiPorts"),
        ({"networkPolicy": {"egressPorts": ["3128"]}}, "egressPorts"),
        ({"metrics": {"tokenSecret": "a/b"}}, "tokenSecret"),
        ({"metrics": {"serviceMonitor": "yes"}}, "serviceMonitor"),
        ({"metrics": {"tlsSecret": "a b"}}, "tlsSecret"),
        ({"env": [{"name": "A", "valueFrom": {}}]}, "env"),
        ({"env": [{"name": "A B", "value": "x"}]}, "env"),
        ({"image": {"repository": "Foo/bar"}}, "repository"),
        ({"resources": {"limits": {"memory": "768MB"}}}, "memory"),
        ({"resources": {"requests": {"cpu": -1}}}, "cpu"),
        ({"tolerations": [{"effect": "NoSchedul"}]}, "effect"),
        ({"networkPolicy": {"apiPorts": None}}, "apiPorts"),
    ],
)
def test_a_slip_in_the_values_is_an_error_that_names_it(charts: Helm, values: Json, named: str) -> None:
    assert named in charts.refused(values)


def told_after(charts: Helm, folder: Path, version: str, *more: str) -> str:
    """What helm tells after an installation; a template of its own, since helm renders it for that alone."""
    chart = folder / "chart"
    shutil.copytree(CHART, chart)
    notes = (chart / "templates/NOTES.txt").read_text()
    told = f'{{{{ define "told" }}}}{notes}{{{{ end }}}}\ntext: {{{{ include "told" . | quote }}}}\n'
    (chart / "templates/told.yaml").write_text(told)
    only = ("--kube-version", version, "--namespace", SPACE, "--show-only", "templates/told.yaml")
    code, out, err = charts.run("template", "shiplift", chart, *only, *more)
    assert code == 0, err
    return yaml.safe_load(out)["text"]


def test_what_is_told_after_an_installation_names_the_image(charts: Helm, tmp_path: Path) -> None:
    told = told_after(charts, tmp_path, "1.36.0", "--set", "image.tag=x")
    assert "from\nimage registry.example/shiplift:x." in told
    assert "mode Template" not in told


def test_where_mode_inject_is_not_there_it_says_what_mode_template_takes(
    charts: Helm, tmp_path: Path
) -> None:
    assert "Kubernetes 1.34 has no mode Inject" in told_after(charts, tmp_path, "1.34.2")
    shutil.rmtree(tmp_path / "chart")
    assert "mode Inject" not in told_after(charts, tmp_path, "1.34.2", "--set", "podTemplates=true")


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


def test_helm_takes_over_what_kubectl_has_applied(
    charts: Helm, private_cluster: Callable[..., Cluster]
) -> None:
    cluster = private_cluster()
    with cluster.client() as client:
        for one in inside.manifests(SPACE, chosen(), Inside(image=IMAGE)):
            client.create(kind_of(one), one)
        there = ("--kubeconfig", cluster.kubeconfig, "--namespace", SPACE)
        code, out, err = charts.run("install", "shiplift", CHART, "--take-ownership", *there)
        assert code == 0, out + err
        labels = client.get(DEPLOYMENT, "shiplift", SPACE)["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        space = client.get(NAMESPACE, SPACE)["metadata"]["labels"]
        assert space["pod-security.kubernetes.io/enforce"] == "restricted"
        code, out, err = charts.run("uninstall", "shiplift", *there)
        assert code == 0, out + err
        assert client.get(CONFIG_MAP, "shiplift-journal", SPACE)
