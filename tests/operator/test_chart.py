"""The Helm chart: made of the same source as `shiplift manifests`, and with the same result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import shiplift
from shiplift.local.operator_image import checkout
from shiplift.operator import alerts, install
from shiplift.operator.chart import making
from shiplift.operator.chart.dashboard import rows
from shiplift.operator.chart.template import Variants, raw, rendered, rights_apart, text
from shiplift.operator.inside import Inside
from shiplift.operator.layers import LAYERS, faces

Json = dict[str, Any]
CHART = checkout() / "charts/shiplift"


def test_what_is_in_the_chart_is_what_is_made_of_the_layers() -> None:
    for name, content in making.files().items():
        assert "@@" not in content
        assert (CHART / name).read_text() == content, f"run python -m shiplift.operator.chart {CHART.name}"


def test_helm_test_asks_whether_anybody_acts_and_not_whether_a_pod_is_ready() -> None:
    """A leader that does not act leaves the Service: who answers is ready to take over."""
    asked = (CHART / "templates/tests/acting.yaml").read_text()
    assert re.findall(r"\.svc:8443(/\w+)", asked) == ["/actingz"]


def test_helm_test_says_why_it_failed_and_leaves_nothing_where_it_did_not() -> None:
    """With `--logs`, which the guides do not say, Helm looks for the pod of a test that is gone by then."""
    asked = (CHART / "templates/tests/acting.yaml").read_text()
    policies = dict(re.findall(r"helm\.sh/hook-([a-z-]+): (.*)", asked))
    assert policies["output-log-policy"] == "hook-failed"
    assert "hook-succeeded" in policies["delete-policy"].split(",")
    for name in ("README.md", "docs/install.md"):
        said = re.findall(r"^helm test .*$", (checkout() / name).read_text(), re.MULTILINE)
        assert len(said) == 1, name
        assert "--logs" not in said[0], name


def test_the_chart_refuses_the_namespaces_that_the_manifests_refuse() -> None:
    """All of them: one that every cluster has, or a name that Kubernetes keeps for itself."""
    said = (CHART / "templates/namespace.yaml").read_text()
    assert re.findall(r'eq \.Release\.Namespace "(.*?)"', said) == [
        one for one in install.CLUSTERS_OWN if not one.startswith(install.RESERVED)
    ]
    assert re.findall(r'hasPrefix "(.*?)" \.Release\.Namespace', said) == [install.RESERVED]
    assert "{{- fail " in said


def test_the_chart_is_of_this_version() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (shiplift.__version__, shiplift.__version__)


def test_what_is_not_said_is_as_in_the_manifests() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["layers"] == list(LAYERS)
    assert values["replicas"] == Inside(image="x:1").replicas
    assert tuple(values["networkPolicy"]["apiPorts"]) == Inside(image="x:1").api_ports


def test_every_object_of_the_schema_is_closed() -> None:
    def objects(schema: Any) -> Iterator[Json]:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for value in schema.values():
                yield from objects(value)

    made = json.loads((CHART / "values.schema.json").read_text())
    for one in objects({key: value for key, value in made["properties"].items() if key != "global"}):
        assert "additionalProperties" in one
    assert made["additionalProperties"] is False


def test_the_dashboard_has_each_metric_of_each_layer_once_in_its_row() -> None:
    made = json.loads((CHART / "files/dashboard.json").read_text())
    asked = [one["targets"][0]["expr"] for one in made["panels"] if one["type"] != "row"]
    assert len(asked) == len(set(asked))
    titles = [one["title"] for one in made["panels"] if one["type"] == "row"]
    assert titles == ["operator", *(name for name, part in LAYERS.items() if part.collector)]
    wanted = {
        name
        for rule in alerts.rules(faces().values())
        for name in re.findall(r"\bshiplift_\w+", rule["expr"])
    }
    assert {name.removesuffix("_total") for name in wanted} <= {
        name.removesuffix("_total") for expr in asked for name in re.findall(r"\bshiplift_\w+", expr)
    }
    assert all(row.panels for row in rows(LAYERS))


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for one in json.loads((CHART / "files/dashboard.json").read_text())["panels"]:
        at = one["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


# --- templates ---


def role(*rights: Json) -> Json:
    return {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": list(rights)}


def right(*resources: str) -> Json:
    return {"apiGroups": [""], "resources": list(resources), "verbs": ["get"]}


def test_an_entry_is_rendered_with_any_of_the_layers_that_bring_it() -> None:
    alone = {"a": [role(right("pods", "nodes"))], "b": [role(right("nodes", "jobs"))]}
    found = rendered(Variants([role(right("pods", "nodes", "jobs"))], [role()], alone), {})
    assert len(found) == 1
    conditions = re.findall(r"\{\{- if (.*?) \}\}", found[0])
    assert conditions == [
        'has "a" .Values.layers',
        'or (has "a" .Values.layers) (has "b" .Values.layers)',
        'has "b" .Values.layers',
    ]


def test_what_no_layer_alone_brings_is_an_error_and_not_left_out() -> None:
    with pytest.raises(ValueError, match="no layer alone brings"):
        rendered(Variants([role(right("pods"))], [role()], {"a": [role()], "b": [role()]}), {})


def test_braces_that_are_text_stay_text_and_marks_become_templates() -> None:
    manifest = {
        "kind": "A",
        "metadata": {"name": "n"},
        "said": "{{ $labels.node }}",
        "number": raw("int .Values.n"),
        "mixed": f"in {text('.Release.Namespace')}",
    }
    [found] = rendered(Variants([manifest], [manifest], {}), {})
    assert "number: {{ int .Values.n }}" in found
    assert "mixed: in {{ .Release.Namespace }}" in found
    assert '{{ "{{" }} $labels.node {{ "}}" }}' in found


def test_a_right_about_names_is_taken_apart_by_name_too() -> None:
    apart = rights_apart(right("configmaps") | {"resourceNames": ["x", "y"]})
    assert [one["resourceNames"] for one in apart] == [["x"], ["y"]]
