"""A small fleet of operators as their authors would write them: bundles, and the catalog made of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import yaml

from shiplift.operators.catalog import bundle_folders, index
from shiplift.operators.catalog.bundle_folders import BundleFolder, PackageFolder
from shiplift.operators.catalog.manifests import in_config_maps
from shiplift.operators.catalog.model import Catalog, Fault, Package

Json = dict[str, Any]
GROUP = "harbour.example"
CHANNELS = "operators.operatorframework.io.bundle.channels.v1"
DEFAULT = "operators.operatorframework.io.bundle.channel.default.v1"


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an operator."""

    package: str
    version: str
    replaces: str = ""
    owned: tuple[Json, ...] = ()
    """Its definitions, whole."""
    required: tuple[tuple[str, str], ...] = ()
    """Kind and version of definitions of others, in lower-case plural."""
    asked: Json = msgspec.field(default_factory=dict)
    """What more is said of those."""
    deployment: str = ""
    """The name of its Deployment; the package's where not given."""
    selects: str = ""
    rules: tuple[Json, ...] = ()
    cluster_rules: tuple[Json, ...] = ()
    beside: tuple[Json, ...] = ()
    """Other manifests."""
    needs: str = ""
    """The lowest version of Kubernetes."""
    until: str = ""
    """The highest."""
    modes: tuple[str, ...] = ("OwnNamespace",)
    webhooks: bool = False
    stuck: bool = False
    """Its pods fit on no node."""
    hand_over: str = ""
    """The hook that runs before it takes over, as JSON."""
    pod: Json = msgspec.field(default_factory=dict)
    """What its pods have instead of the usual."""

    @property
    def name(self) -> str:
        return f"{self.package}.v{self.version}"


def definition(plural: str, versions: tuple[str, ...] = ("v1",), **fields: Json) -> Json:
    """Of a kind whose objects have these fields in their spec; the last version is stored."""
    spec = {"type": "object", "properties": fields or {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    kind = plural.removesuffix("s").capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "plural": plural,
                "singular": plural.removesuffix("s"),
                "listKind": f"{kind}List",
            },
            "versions": [
                {"name": one, "served": True, "storage": one == versions[-1], "schema": copy.deepcopy(schema)}
                for one in versions
            ],
        },
    }


USUAL = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


def manifests(one: Written) -> list[Json]:
    """What the bundle holds."""
    return [_csv(one), *one.owned, *one.beside]


def _csv(one: Written) -> Json:
    account = f"{one.package}-operator"
    install: Json = {
        "deployments": [{"name": one.deployment or one.package, "spec": _deployment(one, account)}],
        "permissions": [{"serviceAccountName": account, "rules": list(one.rules or (USUAL,))}],
    }
    if one.cluster_rules:
        install["clusterPermissions"] = [{"serviceAccountName": account, "rules": list(one.cluster_rules)}]
    spec: Json = {
        "version": one.version,
        "installModes": [{"type": mode, "supported": True} for mode in one.modes],
        "install": {"strategy": "deployment", "spec": install},
        "customresourcedefinitions": {
            "owned": [_described(each, version) for each in one.owned for version in _versions(each)],
            "required": [
                {
                    "name": f"{plural}.{GROUP}",
                    "version": version,
                    "kind": plural.removesuffix("s").capitalize(),
                    **one.asked,
                }
                for plural, version in one.required
            ],
        },
    }
    spec |= {"replaces": one.replaces} if one.replaces else {}
    spec |= {"minKubeVersion": one.needs} if one.needs else {}
    spec |= {"webhookdefinitions": [{"type": "ValidatingAdmissionWebhook"}]} if one.webhooks else {}
    notes = {"operators.shiplift.dev/max-kubernetes-version": one.until} if one.until else {}
    notes |= {"operators.shiplift.dev/hand-over": one.hand_over} if one.hand_over else {}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": one.name, "annotations": notes},
        "spec": spec,
    }


def _versions(given: Json) -> list[str]:
    return [one["name"] for one in given["spec"]["versions"]]


def _described(given: Json, version: str) -> Json:
    return {"name": given["metadata"]["name"], "version": version, "kind": given["spec"]["names"]["kind"]}


def _deployment(one: Written, account: str) -> Json:
    labels = {"app": one.selects or one.package}
    return {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "serviceAccountName": account,
                **({"nodeSelector": {"nowhere": "true"}} if one.stuck else {}),
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": f"example/{one.package}:{one.version}"}],
                **one.pod,
            },
        },
    }


def catalog(versions: Iterable[Written]) -> tuple[Catalog, dict[str, bytes]]:
    """As it is imported from folders, with all that is wrong with it."""
    by_package: dict[str, list[Written]] = {}
    for one in versions:
        by_package.setdefault(one.package, []).append(one)
    packages, faults, payloads = list[Package](), list[Fault](), dict[str, bytes]()
    for name, listed in sorted(by_package.items()):
        folder = PackageFolder(name, tuple(_folder(one) for one in listed), b"updateGraph: replaces-mode\n")
        package, wrong, packed = bundle_folders.package(folder)
        faults += wrong
        payloads |= packed
        packages += [package] if package else []
    return Catalog(tuple(packages), tuple(faults)), payloads


def _folder(one: Written) -> BundleFolder:
    files = {f"{number}.yaml": yaml.safe_dump(each).encode() for number, each in enumerate(manifests(one))}
    notes = {"annotations": {CHANNELS: "stable", DEFAULT: "stable"}}
    return BundleFolder(one.name, files, {"annotations.yaml": yaml.safe_dump(notes).encode()})


def in_maps(name: str, namespace: str, versions: Iterable[Written]) -> Iterator[Json]:
    """ConfigMaps, and the OperatorCatalog that reads them every second."""
    found, payloads = catalog(versions)
    for one in in_config_maps(name, namespace, index.encode(found), payloads):
        if one["kind"] == "OperatorCatalog":
            one["spec"]["pollInterval"] = "1s"
        yield one
