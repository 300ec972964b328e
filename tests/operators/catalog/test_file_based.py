"""What is wrong with a file-based catalog is named, and costs what it is about and nothing else."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from shiplift.operators.catalog.model import FaultKind
from tests.operators.catalog.building import (
    Json,
    built,
    bundle_document,
    channel_document,
    entry,
    kinds,
    package_document,
)

FIRST, SECOND = {"name": "app.v1.0.0"}, {"name": "app.v1.1.0", "replaces": "app.v1.0.0"}
BUNDLES = (bundle_document("1.0.0"), bundle_document("1.1.0"))
OTHER = (
    package_document("other"),
    channel_document({"name": "app.v7.0.0"}, package="other"),
    bundle_document("7.0.0", "other"),
)
"""A package that nothing is wrong with."""


def property_(type_: str, value: Any) -> Json:
    return {"type": type_, "value": value}


def with_properties(*more: Json, version: str = "1.0.0") -> Json:
    document = bundle_document(version)
    return document | {"properties": [*document["properties"], *more]}


def test_a_package_is_read_with_its_channels_and_versions() -> None:
    packages, faults = built(package_document(), channel_document(FIRST, SECOND), *BUNDLES)
    assert faults == []
    (package,) = packages
    assert (package.name, package.default_channel) == ("app", "stable")
    assert package.channels[0].entries == (entry("1.0.0"), entry("1.1.0", "1.0.0"))
    assert [one.version for one in package.bundles] == ["1.0.0", "1.1.0"]


def test_a_number_where_text_belongs_is_told_to_be_quoted() -> None:
    unquoted = bundle_document("1.1") | {"properties": [property_("olm.package", {"version": 1.1})]}
    _, faults = built(package_document(), channel_document(FIRST | {"replaces": 1}), unquoted)
    assert [fault.message for fault in faults if "quotes" in fault.message] == [
        "catalog.yaml: olm.channel stable: entries[0].replaces is a number, not text: put it in quotes",
        "app.v1.1: version is a number, not text: put it in quotes",
    ]


def test_properties_say_what_a_version_owns_and_needs() -> None:
    said = with_properties(
        property_("olm.gvk", {"group": "a.example", "kind": "A", "version": "v1"}),
        property_("olm.gvk.required", {"group": "b.example", "kind": "B", "version": "v1"}),
        property_("olm.package.required", {"packageName": "b", "versionRange": ">=1.0.0"}),
        property_("olm.maxOpenShiftVersion", "4.20"),
        property_("olm.csv.metadata", {"minKubeVersion": "1.30.0"}),
        property_("olm.constraint", {"any": {}}),
        property_("of.somebody.else", 7),
    )
    packages, faults = built(package_document(), channel_document(FIRST), said)
    assert faults == []
    bundle = packages[0].bundles[0]
    assert [str(crd) for crd in bundle.owned] == ["A a.example/v1"]
    assert [str(crd) for crd in bundle.required] == ["B b.example/v1"]
    assert [(need.package, need.range) for need in bundle.packages] == [("b", ">=1.0.0")]
    assert (bundle.max_openshift, bundle.min_kubernetes) == ("4.20", "1.30.0")
    assert bundle.uninstallable == ("combined constraints",)


def test_a_bundle_may_carry_its_manifests() -> None:
    version = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "app.v1.0.0"},
        "spec": {
            "minKubeVersion": "1.28.0",
            "install": {"strategy": "deployment"},
            "webhookdefinitions": [{"type": "ValidatingAdmissionWebhook"}],
        },
    }
    crd = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}
    objects = [
        property_("olm.bundle.object", {"data": base64.b64encode(msgspec.json.encode(one)).decode()})
        for one in (version, crd)
    ]
    packages, faults = built(
        package_document(), channel_document(FIRST), with_properties(*objects) | {"image": ""}
    )
    assert faults == []
    bundle = packages[0].bundles[0]
    assert bundle.apis == ("apiextensions.k8s.io/v1beta1 CustomResourceDefinition",)
    assert bundle.min_kubernetes == "1.28.0"
    assert bundle.uninstallable == ("webhooks",)
    assert bundle.payload.startswith("sha256:")


def test_what_is_deprecated_says_why() -> None:
    said = [
        {"reference": {"schema": "olm.package"}, "message": "no more"},
        {"reference": {"schema": "olm.channel", "name": "stable"}, "message": "use fast"},
        {"reference": {"schema": "olm.bundle", "name": "app.v1.0.0"}, "message": "it loses data"},
    ]
    document = {"schema": "olm.deprecations", "package": "app", "entries": said}
    packages, faults = built(package_document(), channel_document(FIRST), BUNDLES[0], document)
    assert faults == []
    package = packages[0]
    told = (package.deprecated, package.channels[0].deprecated, package.bundles[0].deprecated)
    assert told == ("no more", "use fast", "it loses data")


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ((channel_document(FIRST), BUNDLES[0]), [FaultKind.PACKAGE_MISSING]),
        (
            (package_document(), package_document(), channel_document(FIRST), BUNDLES[0]),
            [FaultKind.PACKAGE_TWICE],
        ),
        ((package_document("App!"),), [FaultKind.PACKAGE_NAME]),
        ((package_document(),), [FaultKind.NO_CHANNEL]),
        (
            (package_document(), channel_document(FIRST | {"replaces": "app.v1.0.0"}), BUNDLES[0]),
            [FaultKind.NO_HEAD, FaultKind.NO_CHANNEL],
        ),
        (
            (
                package_document(),
                channel_document(FIRST | {"replaces": "app.v1.1.0"}, SECOND),
                *BUNDLES,
            ),
            [FaultKind.NO_HEAD, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), channel_document(FIRST, {"name": "app.v1.1.0"}), *BUNDLES),
            [FaultKind.SEVERAL_HEADS, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), channel_document(FIRST, FIRST), BUNDLES[0]),
            [FaultKind.ENTRY_TWICE, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), channel_document(), BUNDLES[0]),
            [FaultKind.BUNDLE_WITHOUT_CHANNEL, FaultKind.CHANNEL_EMPTY, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), channel_document(FIRST, name=""), BUNDLES[0]),
            [FaultKind.CHANNEL_NAME, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), channel_document(FIRST), channel_document(FIRST), BUNDLES[0]),
            [FaultKind.CHANNEL_TWICE, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), channel_document(FIRST), BUNDLES[0], BUNDLES[0]),
            [FaultKind.BUNDLE_TWICE, FaultKind.ENTRY_WITHOUT_BUNDLE, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), {"schema": "olm.bundle", "package": 7}),
            [FaultKind.DOCUMENT, FaultKind.NO_CHANNEL],
        ),
        (
            (package_document(), {"schema": "olm.channel", "package": "app", "entries": 7}),
            [FaultKind.DOCUMENT, FaultKind.NO_CHANNEL],
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_named_and_the_others_stay(
    documents: tuple[Json, ...], expected: list[FaultKind]
) -> None:
    packages, faults = built(*documents, *OTHER)
    assert [package.name for package in packages] == ["other"]
    assert kinds(faults) == expected


@pytest.mark.parametrize(
    ("documents", "versions", "expected"),
    [
        (
            (channel_document(FIRST, SECOND), BUNDLES[0], bundle_document("1.1.0", image="")),
            2,
            FaultKind.BUNDLE_WITHOUT_CONTENT,
        ),
        ((channel_document(FIRST), *BUNDLES), 1, FaultKind.BUNDLE_WITHOUT_CHANNEL),
        (
            (channel_document(FIRST, {"name": "app.v9.0.0", "replaces": "app.v1.0.0"}), BUNDLES[0]),
            1,
            FaultKind.ENTRY_WITHOUT_BUNDLE,
        ),
        ((channel_document(FIRST | {"skipRange": "<=one"}), BUNDLES[0]), 1, FaultKind.SKIP_RANGE),
        ((channel_document(FIRST | {"skips": [""]}), BUNDLES[0]), 1, FaultKind.SKIPS),
        ((channel_document(FIRST, name="fast"), BUNDLES[0]), 1, FaultKind.DEFAULT_CHANNEL),
        ((channel_document(FIRST), BUNDLES[0], {"name": "no schema"}), 1, FaultKind.DOCUMENT),
        ((channel_document(FIRST), BUNDLES[0], ["a list"]), 1, FaultKind.DOCUMENT),
        (
            (channel_document(FIRST), BUNDLES[0], {"schema": "olm.bundle", "name": "homeless"}),
            1,
            FaultKind.DOCUMENT,
        ),
    ],
)
def test_a_fault_costs_what_it_is_about(
    documents: tuple[Json, ...], versions: int, expected: FaultKind
) -> None:
    packages, faults = built(package_document(), *documents)
    assert [len(package.bundles) for package in packages] == [versions]
    assert kinds(faults) == [expected]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (bundle_document("1.0"), FaultKind.VERSION),
        (bundle_document("1.0.0", properties=[]), FaultKind.BUNDLE),
        (with_properties(property_("olm.package", {})), FaultKind.BUNDLE),
        (with_properties(property_("olm.gvk", "A")), FaultKind.BUNDLE),
        (with_properties(property_("olm.bundle.object", {"data": "not base64!"})), FaultKind.BUNDLE),
        (with_properties(property_("olm.bundle.object", {"data": "ew=="})), FaultKind.BUNDLE),
        (bundle_document("1.0.0", "other") | {"package": "app"}, FaultKind.BUNDLE),
    ],
)
def test_a_bundle_that_cannot_be_read_is_named_and_its_channel_goes_on_without(
    document: Json, expected: FaultKind
) -> None:
    document = document | {"name": "app.v1.0.0"}
    packages, faults = built(
        package_document(), channel_document(FIRST, SECOND), document, bundle_document("1.1.0")
    )
    assert [one.version for one in packages[0].bundles] == ["1.1.0"]
    assert kinds(faults) == [expected, FaultKind.ENTRY_WITHOUT_BUNDLE]


def test_two_bundles_of_one_version_are_told() -> None:
    second = bundle_document("1.0.0", name="app.again", image="registry.example/app:again")
    entries = (FIRST, {"name": "app.again", "replaces": "app.v1.0.0"})
    _, faults = built(package_document(), channel_document(*entries), BUNDLES[0], second)
    assert kinds(faults) == [FaultKind.VERSION_TWICE]
    assert faults[0].message == "app.again, app.v1.0.0 are all version 1.0.0"


def test_documents_of_others_are_nobodys_business() -> None:
    packages, faults = built(*OTHER, {"schema": "example.com/thing", "package": "other"})
    assert len(packages) == 1
    assert faults == []
