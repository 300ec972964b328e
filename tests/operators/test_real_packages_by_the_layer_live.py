"""Real packages, installed and upgraded by the layer itself along their real paths, with custom resources;
what this server does not serve is passed over, with the reason."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.facts.kinds import (
    APP_TYPE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    OPERATOR_CATALOG,
    Kind,
)
from shiplift.kube.errors import Invalid, NotFound
from shiplift.kube.rbac import GROUP
from shiplift.operators import sources
from shiplift.operators.catalog.installation import examples
from shiplift.operators.catalog.model import Package
from shiplift.operators.sources import Imported
from tests.operators.rig import ACCOUNT, Scene
from tests.operators.test_real_packages_live import INSTALLED, REFUSED_EXAMPLES, kind_in, manifests, versions
from tests.operators.test_real_packages_live import imported as imported  # noqa: PLC0414 - a fixture

Json = dict[str, Any]
TOLD = [{"rule": rule, "action": "Warn"} for rule in ("FieldRemoval", "Type", "ServedVersionRemoval")]
"""What their authors did to definitions of theirs that nobody here has objects of."""


@pytest.fixture(scope="module")
def folder(imported: Imported, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it as an index, as a user would import it."""
    made = tmp_path_factory.mktemp("index")
    sources.write(imported, made)
    return made


@pytest.fixture
def allowed(scene: Scene) -> Iterator[Scene]:
    """The account may do everything: real operators want a lot."""
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": scene.space}
    body = {"metadata": {"name": f"all-{scene.name}"}, "roleRef": role, "subjects": [subject]}
    scene.client.create(CLUSTER_ROLE_BINDING, body)
    yield scene
    scene.remove(CLUSTER_ROLE_BINDING, f"all-{scene.name}")


def offer(scene: Scene, folder: Path, package: str) -> None:
    source = {"folder": {"path": str(folder)}}
    spec = {"source": source, "include": [package], "pollInterval": "1h"}
    scene.client.create(OPERATOR_CATALOG, {"metadata": {"name": scene.name}, "spec": spec})


def definitions(scene: Scene, package: Package) -> list[Json]:
    wanted = {f"{one.plural}.{one.group}" for bundle in package.bundles for one in bundle.owned}
    return [one for one in scene.client.list(CUSTOM_RESOURCE_DEFINITION) if one["metadata"]["name"] in wanted]


@pytest.mark.long(seconds=45)
@pytest.mark.parametrize("name", INSTALLED)
def test_a_package_goes_its_real_path_with_its_custom_resources_in_place(
    imported: Imported, folder: Path, allowed: Scene, name: str
) -> None:
    package = imported.catalog.package(name)
    assert package
    path = versions(package)
    offer(allowed, folder, name)
    allowed.ask(name, version=path[0].version, crdSafety=TOLD)
    allowed.come_to(name, path[0].version, 120)
    stored = show(allowed, definitions(allowed, package), examples(manifests(imported, path[0])))
    assert stored or name in REFUSED_EXAMPLES, "none of the examples was taken"
    allowed.edit(name, version=None)
    allowed.come_to(name, path[-1].version, 60 + 60 * len(path))
    for (kind, one), spec in stored.items():
        assert (allowed.find(kind, one) or {}).get("spec", {}) == spec
    allowed.remove(APP_TYPE, name, allowed.space)
    allowed.waits(lambda: allowed.find(APP_TYPE, name) is None)
    for kind, one in stored:
        assert allowed.find(kind, one), "custom resources outlive their operator"
    for one in definitions(allowed, package):
        allowed.remove(CUSTOM_RESOURCE_DEFINITION, one["metadata"]["name"])


def show(scene: Scene, known: list[Json], shown: list[Json]) -> dict[tuple[Kind, str], Json]:
    """The examples of its authors that the server takes, and what is stored of them."""
    stored: dict[tuple[Kind, str], Json] = {}
    for one in shown:
        kind = kind_in(known, one)
        if kind and kind.namespaced:
            with contextlib.suppress(Invalid, NotFound):
                body = {**one, "metadata": {"name": one["metadata"]["name"]}}
                made = scene.client.create(kind, body, scene.space).object
                stored[kind, made["metadata"]["name"]] = made.get("spec", {})
    return stored


@pytest.mark.parametrize("name", ["etcd", "kong"])
def test_a_package_that_this_server_does_not_serve_is_refused_with_that_reason(
    folder: Path, allowed: Scene, name: str
) -> None:
    offer(allowed, folder, name)
    allowed.ask(name)
    told = allowed.says(name, "Resolved", "NotHere")
    assert "apiextensions.k8s.io/v1beta1 CustomResourceDefinition, which is not served" in told
