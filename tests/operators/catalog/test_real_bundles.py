"""47 real bundles of 12 packages: all imported, their ways walked, what cannot run told with its reason."""

from __future__ import annotations

import tarfile

import pytest

from benchmarks.catalog import data
from shiplift.operators import sources
from shiplift.operators.catalog import payload
from shiplift.operators.catalog.graph import ChannelGraph, Installed
from shiplift.operators.catalog.kubernetes import Kubernetes, objections
from shiplift.operators.catalog.paths import Why, answer
from shiplift.operators.catalog.semver import parse
from shiplift.operators.sources import Imported


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    archive = data.bundles()
    if archive is None:
        pytest.skip(f"there are no bundles in {data.folder()}")
    folder = tmp_path_factory.mktemp("bundles")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return sources.load(folder)


def test_every_bundle_is_imported_and_nothing_is_wrong(imported: Imported) -> None:
    assert imported.catalog.faults == ()
    assert (len(imported.catalog.packages), imported.catalog.bundles) == (12, 47)
    assert len(imported.payloads) == 47


def test_the_manifests_of_each_come_back_by_their_digest(imported: Imported) -> None:
    for package in imported.catalog.packages:
        for bundle in package.bundles:
            manifests = payload.unpacked(bundle.payload, imported.payloads[bundle.payload])
            assert [one["metadata"]["name"] for one in manifests if payload.is_csv(one)] == [bundle.name]


def test_from_the_lowest_version_of_a_channel_there_is_a_way_to_its_head(imported: Imported) -> None:
    hops: dict[str, int] = {}
    for package in imported.catalog.packages:
        for channel in package.channels:
            bundles = [package.bundle(entry.name) for entry in channel.entries]
            lowest = min((one for one in bundles if one), key=lambda one: parse(one.version))
            found = answer(package, channel.name, Installed(lowest.name, parse(lowest.version)))
            assert found.why in (Why.WAY, Why.THERE), (package.name, channel.name, found.message)
            hops[package.name] = len(found.way)
    assert sum(hops.values()) >= 25


def test_what_the_newest_kubernetes_does_not_serve_is_told(imported: Imported) -> None:
    told: dict[str, tuple[str, ...]] = {}
    for package in imported.catalog.packages:
        channel = package.channel(package.default_channel)
        assert channel
        head = ChannelGraph(package, channel).head
        assert head
        told[package.name] = objections(head, Kubernetes(1, 36))
    kind = "apiextensions.k8s.io/v1beta1 CustomResourceDefinition"
    old = f"brings {kind}, which is not served since Kubernetes 1.22"
    assert {name: why for name, why in told.items() if why} == {
        "etcd": (old,),
        "hawkbit-operator": ("runs on OpenShift 4.9 at most, which is Kubernetes 1.22",),
        "kong": (old,),
    }


def test_what_a_package_needs_of_others_is_known(imported: Imported) -> None:
    hawkbit = imported.catalog.package("hawkbit-operator")
    assert hawkbit
    assert {crd.group for crd in hawkbit.bundles[-1].required} == {"keycloak.org"}
