"""What of the chart is made of the layers: templates, the schema of values, the dashboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from shiplift.api import crd
from shiplift.facts.kinds import Kind
from shiplift.kube.manifests import kind_of
from shiplift.kube.part import LayerPart
from shiplift.kube.served import SINCE
from shiplift.operator import alerts, inside, install
from shiplift.operator.chart import schema
from shiplift.operator.chart.dashboard import dashboard
from shiplift.operator.chart.monitoring import service_monitor
from shiplift.operator.chart.template import (
    Identity,
    Manifest,
    Variants,
    enabled,
    identity,
    raw,
    rendered,
    text,
)
from shiplift.operator.inside import Inside
from shiplift.operator.layers import LAYERS, chosen, faces

NAMESPACE = text(".Release.Namespace")
_BEGINNING = "{{- /* made by python -m shiplift.operator.chart: what is changed here is lost */ -}}\n"
_RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_POLICIES = ("FlowSchema", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_KEEP = {"helm.sh/resource-policy": "keep"}
"""Of what holds something that nobody else has: CRDs, and where layers keep their records and claims."""


def files() -> dict[str, str]:
    """By their path in the chart."""
    found = _installed()
    by_file = {"rights": _RIGHTS, "policies": (*_POLICIES, *(kind.kind for kind in SINCE))}
    elsewhere = {kind for kinds in by_file.values() for kind in kinds}
    texts = {name: [one for kind, one in found if kind in kinds_] for name, kinds_ in by_file.items()} | {
        "operator": [one for kind, one in found if kind not in elsewhere],
        "crds": [one for _, one in _definitions()],
        "monitoring": [one for _, one in _monitoring()],
    }
    return {
        **{f"templates/{name}.yaml": _BEGINNING + "".join(ones) for name, ones in texts.items()},
        "values.schema.json": _json(schema.of_values(LAYERS)),
        "files/dashboard.json": _json(dashboard(LAYERS)),
    }


def _json(value: object) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def _installed() -> list[tuple[str, str]]:
    """Kind and text of what `shiplift manifests --in-cluster` prints; the namespace is for helm to make."""
    variants = Variants(
        _assembled(chosen()), _assembled(()), {name: _assembled(chosen([name])) for name in LAYERS}
    )
    conditions = {identity(one): _condition(one) for one in variants.whole}
    return list(zip((one["kind"] for one in variants.whole), rendered(variants, conditions), strict=True))


def _assembled(parts: Sequence[LayerPart]) -> list[Manifest]:
    settings = Inside(image=text('include "shiplift.image" .'), api_ports=())
    found = inside.assembled(NAMESPACE, parts, settings, templates=True)
    return [_with_values(one) for one in found if one["kind"] != "Namespace"]


def _with_values(manifest: Manifest) -> Manifest:
    match manifest["kind"]:
        case "Deployment":
            return _deployment(manifest)
        case "NetworkPolicy":
            return _network_policy(manifest)
        case "ConfigMap":
            return _annotated(manifest, _KEEP)
        case _:
            return manifest


def _annotated(manifest: Manifest, annotations: Mapping[str, str]) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | {"annotations": dict(annotations)}}


def _deployment(manifest: Manifest) -> Manifest:
    spec, pod = manifest["spec"], manifest["spec"]["template"]["spec"]
    [container] = pod["containers"]
    words = list(container["args"])
    words[words.index("--layers") + 1] = text('join "," .Values.layers')
    words[words.index("--tls")] = text('include "shiplift.tls" .')
    container = container | {
        "args": words,
        "imagePullPolicy": text(".Values.image.pullPolicy"),
        "resources": raw("toJson .Values.resources"),
        "env": raw("toJson .Values.env"),
        "volumeMounts": _besides("shiplift.volumeMounts", inside.scratch_mounts),
    }
    pod = pod | {
        "nodeSelector": raw("toJson .Values.nodeSelector"),
        "tolerations": raw("toJson .Values.tolerations"),
        "imagePullSecrets": raw("toJson .Values.image.pullSecrets"),
        "containers": [container],
        "volumes": _besides("shiplift.volumes", inside.scratch_volumes),
    }
    template = spec["template"] | {"spec": pod}
    return manifest | {"spec": spec | {"replicas": raw("int .Values.replicas"), "template": template}}


def _besides(template: str, of: Callable[[Iterable[LayerPart]], list[Manifest]]) -> str:
    """What values bring, and what layers do that are enabled: a list, as JSON."""
    more = [
        f"(ternary (list {_made(one)}) (list) ({enabled([part.name])}))"
        for part in chosen()
        for one in of([part])
    ]
    # nothing and nothing make null, where a list is meant
    every = f'concat (fromJsonArray (include "{template}" .)) {" ".join(more)}'
    return raw(f"toJson (default (list) ({every}))")


def _made(value: object) -> str:
    """As an expression of templates; JSON has braces that end one."""
    if not isinstance(value, dict):
        return json.dumps(value)
    found = cast("dict[str, object]", value)
    return f"(dict {' '.join(f'{json.dumps(key)} {_made(one)}' for key, one in found.items())})"


def _network_policy(manifest: Manifest) -> Manifest:
    """The ports of the API server and those that are added, which nobody has named yet, are of the values."""
    ports = raw('include "shiplift.egressPorts" .')
    ways = [one if one["ports"] else {"ports": ports} for one in manifest["spec"]["egress"]]
    return manifest | {"spec": manifest["spec"] | {"egress": ways}}


def _condition(manifest: Manifest) -> str:
    if manifest["metadata"]["name"] == install.TEMPLATES_ROLE:
        return ".Values.podTemplates"
    if manifest["kind"] == "NetworkPolicy":
        return ".Values.networkPolicy.enabled"
    return _served(kind_of(manifest))


def _served(kind: Kind) -> str:
    """By version, and by what the server says; helm that asks no server knows no kinds at all."""
    if kind not in SINCE:
        return ""
    has = ".Capabilities.APIVersions.Has"
    said = f'or (not ({has} "apps/v1/Deployment")) ({has} "{kind.api_version}/{kind.kind}")'
    return f'and (semverCompare ">=1.{SINCE[kind]}-0" .Capabilities.KubeVersion.Version) ({said})'


def _definitions() -> list[tuple[Identity, str]]:
    """The CRDs of the layers: templates, so that they are upgraded with the release; kept when it goes."""
    variants = Variants(_crds(chosen()), [], {name: _crds(chosen([name])) for name in LAYERS})
    conditions = {identity(one): ".Values.crds.install" for one in variants.whole}
    return list(zip(map(identity, variants.whole), rendered(variants, conditions), strict=True))


def _crds(parts: Iterable[LayerPart]) -> list[Manifest]:
    wanted = sorted({kind for part in parts for kind in part.custom_kinds})
    found = map(crd.manifest, wanted)
    return [_annotated(one, _KEEP) for one in found]


def _monitoring() -> list[tuple[Identity, str]]:
    def watched(names: Sequence[str]) -> list[Manifest]:
        rules = alerts.manifest(NAMESPACE, [faces([name])[name] for name in names])
        return [_labelled(service_monitor(NAMESPACE)), _labelled(rules), _grafana()]

    variants = Variants(watched(list(LAYERS)), watched([]), {name: watched([name]) for name in LAYERS})
    switches = {
        "ServiceMonitor": ".Values.metrics.serviceMonitor",
        "PrometheusRule": ".Values.metrics.alerts",
        "ConfigMap": ".Values.metrics.dashboard",
    }
    conditions = {identity(one): switches[one["kind"]] for one in variants.whole}
    return list(zip(map(identity, variants.whole), rendered(variants, conditions), strict=True))


def _labelled(manifest: Manifest) -> Manifest:
    """As the Prometheus that is to find it wants."""
    return manifest | {"metadata": manifest["metadata"] | {"labels": raw("toJson .Values.metrics.labels")}}


def _grafana() -> Manifest:
    about: dict[str, Any] = {"name": "shiplift-dashboard", "namespace": NAMESPACE}
    about["labels"] = {"grafana_dashboard": "1"}
    content = raw('include "shiplift.dashboard" . | toJson')
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"shiplift.json": content}}
