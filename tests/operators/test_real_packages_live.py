"""Real packages on a real API server: each version along their paths is accepted and becomes available, with
the custom resources of its authors in place; what this server does not serve is refused with that reason."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.catalog import data
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, Invalid, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.operators import sources
from shiplift.operators.catalog import payload
from shiplift.operators.catalog.graph import Installed
from shiplift.operators.catalog.installation import NotInstallableError, examples, objects
from shiplift.operators.catalog.kubernetes import Kubernetes, objections
from shiplift.operators.catalog.model import Bundle, Package
from shiplift.operators.catalog.paths import answer
from shiplift.operators.catalog.semver import parse
from shiplift.operators.sources import Imported
from tests.operators.crds.test_existing_live import served
from tests.until import until

Json = dict[str, Any]
INSTALLED = [
    "aqua",
    "community-trivy-operator",
    "grafana-operator",
    "k8gb",
    "keda",
    "microcks",
    "rabbitmq-cluster-operator",
    "wildfly",
]
REFUSED_EXAMPLES = ("k8gb",)
"""Packages whose own schema refuses the custom resources that their authors show."""
HERE = Kubernetes(1, 36)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    archive = data.bundles()
    if archive is None:
        pytest.skip(f"there are no bundles in {data.folder()}")
    folder = tmp_path_factory.mktemp("bundles")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return sources.load(folder)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


def versions(package: Package) -> list[Bundle]:
    """From the lowest version that this server can take, hop by hop to the head."""
    fitting = [one for one in package.bundles if not objections(one, HERE)]
    first = min(fitting, key=lambda one: parse(one.version))
    way = answer(package, package.default_channel, Installed(first.name, parse(first.version))).way
    return [first, *(hop.bundle for hop in way)]


def manifests(imported: Imported, bundle: Bundle) -> list[Json]:
    return payload.unpacked(bundle.payload, imported.payloads[bundle.payload])


class Site:
    """A namespace in which one operator is installed, and all that was made for it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        self.made: dict[tuple[Kind, str, str], str] = {}

    def put(self, manifest: Json) -> None:
        """Created or changed, not applied: a real bundle may have fields that its kind has not, which the
        server overlooks in the one case and refuses in the other."""
        kind, meta = kind_of(manifest), manifest["metadata"]
        space, name = meta.get("namespace", ""), meta["name"]
        try:
            written = self.client.create(kind, manifest, space).object
        except AlreadyExists:
            written = self.change(kind, space, name, manifest)
        self.made[kind, space, name] = written["metadata"]["uid"]

    def change(self, kind: Kind, space: str, name: str, manifest: Json) -> Json:
        """A Deployment whose selector differs has to be made anew: that cannot be changed."""
        uid = self.client.get(kind, name, space)["metadata"]["uid"]
        try:
            return self.client.patch(kind, name, manifest, space, uid=uid).object
        except Invalid as error:
            if kind != DEPLOYMENT or "field is immutable" not in error.message:
                raise
        self.client.delete(kind, name, space, uid=uid)
        until(lambda: self.is_gone(kind, space, name))
        return self.client.create(kind, manifest, space).object

    def is_gone(self, kind: Kind, space: str, name: str) -> bool:
        try:
            self.client.get(kind, name, space)
        except NotFound:
            return True
        return False

    def install(self, found: list[Json]) -> None:
        for one in found:
            self.put(one)
            if kind_of(one) == CUSTOM_RESOURCE_DEFINITION:
                self.serve(one)

    def serve(self, definition: Json) -> None:
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                kind = (spec["names"]["kind"], spec["names"]["plural"], spec["group"], version["name"])
                served(self.client, Kind(*kind, namespaced=spec["scope"] == "Namespaced"))

    def is_available(self, name: str, bundle: str) -> bool:
        live = self.client.get(DEPLOYMENT, name, self.namespace)
        status, meta = live.get("status") or {}, live["metadata"]
        ready = (
            status.get("availableReplicas", 0) == live["spec"]["replicas"] == status.get("updatedReplicas", 0)
        )
        seen = status.get("observedGeneration") == meta["generation"]
        return ready and seen and meta["annotations"]["operators.shiplift.dev/bundle"] == bundle

    def show(self, definitions: list[Json], shown: list[Json]) -> dict[tuple[Kind, str], Json]:
        """The examples that the server takes, and what is stored of them."""
        stored: dict[tuple[Kind, str], Json] = {}
        for one in shown:
            kind = kind_in(definitions, one)
            if kind and kind.namespaced:
                with contextlib.suppress(Invalid):
                    body = {**one, "metadata": {"name": one["metadata"]["name"]}}
                    made = self.client.create(kind, body, self.namespace).object
                    stored[kind, made["metadata"]["name"]] = made.get("spec", {})
        return stored

    def remove(self) -> None:
        """What is not in the namespace, which goes by itself."""
        for (kind, namespace, name), uid in self.made.items():
            if not namespace:
                with contextlib.suppress(NotFound):
                    self.client.delete(kind, name, uid=uid)


def kind_in(definitions: list[Json], one: Json) -> Kind | None:
    group, _, version = one["apiVersion"].partition("/")
    for definition in definitions:
        spec = definition["spec"]
        if (spec["group"], spec["names"]["kind"]) == (group, one["kind"]):
            namespaced = spec["scope"] == "Namespaced"
            return Kind(one["kind"], spec["names"]["plural"], group, version, namespaced)
    return None


def definitions_in(found: list[Json]) -> list[Json]:
    return [one for one in found if one["kind"] == "CustomResourceDefinition"]


@pytest.mark.parametrize("name", INSTALLED)
def test_a_package_is_installed_and_upgraded_with_its_custom_resources_in_place(
    imported: Imported, client: Client, namespace: str, name: str
) -> None:
    package = imported.catalog.package(name)
    assert package
    path = versions(package)
    assert len(path) >= 2, "there has to be something to upgrade to"
    site = Site(client, namespace)
    stored: dict[tuple[Kind, str], Json] = {}
    try:
        for bundle in path:
            given = manifests(imported, bundle)
            found = objects(bundle, given, namespace)
            site.install(found)
            for deployment in (one for one in found if one["kind"] == "Deployment"):
                until(
                    lambda one=deployment, at=bundle: site.is_available(one["metadata"]["name"], at.name), 60
                )
            stored = stored or site.show(definitions_in(found), examples(given))
        assert stored or name in REFUSED_EXAMPLES, "none of the examples was taken"
        for (kind, one), spec in stored.items():
            assert client.get(kind, one, namespace).get("spec", {}) == spec
    finally:
        site.remove()


@pytest.mark.parametrize("name", ["etcd", "kong"])
def test_a_package_that_this_server_does_not_serve_is_refused_with_that_reason(
    imported: Imported, name: str
) -> None:
    package = imported.catalog.package(name)
    assert package
    for bundle in package.bundles:
        old = "apiextensions.k8s.io/v1beta1 CustomResourceDefinition"
        assert f"brings {old}, which is not served since Kubernetes 1.22" in objections(bundle, HERE)
        with pytest.raises(NotInstallableError, match=f"{bundle.name} brings {old}, which is not installed"):
            objects(bundle, manifests(imported, bundle), "ops")
