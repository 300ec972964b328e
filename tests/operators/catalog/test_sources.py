"""Catalogs are read from folders of bundles, file-based catalogs and indexes; a broken file costs itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from shiplift.operators import sources
from shiplift.operators.catalog import payload
from shiplift.operators.catalog.model import FaultKind
from tests.operators.catalog.building import (
    bundle_document,
    channel_document,
    entry,
    kinds,
    package_document,
)

Json = dict[str, Any]
CHANNELS = "operators.operatorframework.io.bundle.channels.v1"
DEFAULT = "operators.operatorframework.io.bundle.channel.default.v1"
PACKAGE = "operators.operatorframework.io.bundle.package.v1"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "as.a.example"},
}


def csv(version: str, **spec: Any) -> Json:
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"app.v{version}", "annotations": {"olm.skipRange": "<0.5.0"}},
        "spec": {"version": version, "install": {"strategy": "deployment"}} | spec,
    }


def write_bundle(root: Path, version: str, *manifests: Any, **annotations: str) -> Path:
    folder = root / "app" / version
    (folder / "manifests").mkdir(parents=True)
    (folder / "metadata").mkdir()
    for number, manifest in enumerate(manifests or (csv(version), CRD)):
        (folder / "manifests" / f"{number}.yaml").write_text(yaml.safe_dump(manifest))
    said = {PACKAGE: "app", CHANNELS: "stable, fast", DEFAULT: "stable"} | annotations
    (folder / "metadata/annotations.yaml").write_text(yaml.safe_dump({"annotations": said}))
    return folder


def test_bundles_become_a_package_by_its_update_graph(tmp_path: Path) -> None:
    for version in ("1.0.0", "1.10.0", "1.9.0"):
        write_bundle(tmp_path, version)
    (tmp_path / "app/ci.yaml").write_text("updateGraph: semver-mode\n")
    imported = sources.load(tmp_path)
    assert imported.catalog.faults == ()
    (package,) = imported.catalog.packages
    assert (package.name, package.default_channel) == ("app", "stable")
    assert [channel.name for channel in package.channels] == ["fast", "stable"]
    assert package.channels[0].entries[-1] == entry("1.10.0", "1.9.0", (), "<0.5.0")
    assert {one.payload for one in package.bundles} == set(imported.payloads)


def test_a_bundle_says_what_it_owns_needs_and_brings(tmp_path: Path) -> None:
    owned = {"name": "as.a.example", "version": "v1", "kind": "A"}
    required = {"name": "bs.b.example", "version": "v1", "kind": "B"}
    version = csv(
        "1.0.0",
        replaces="app.v0.9.0",
        skips=["app.v0.8.0"],
        minKubeVersion="1.30.0",
        customresourcedefinitions={"owned": [owned], "required": [required]},
        webhookdefinitions=[{}],
        apiservicedefinitions={"owned": [{}]},
    )
    version["metadata"]["annotations"] |= {
        "operators.shiplift.dev/max-kubernetes-version": "1.38",
        "olm.properties": '[{"type": "olm.maxOpenShiftVersion", "value": "4.24"}]',
    }
    folder = write_bundle(tmp_path, "1.0.0", version, CRD)
    dependencies = [
        {"type": "olm.package", "value": {"packageName": "c", "version": ">1.0.0"}},
        {"type": "olm.gvk", "value": {"group": "d.example", "kind": "D", "version": "v1"}},
    ]
    (folder / "metadata/dependencies.yaml").write_text(yaml.safe_dump({"dependencies": dependencies}))
    imported = sources.load(tmp_path)
    assert imported.catalog.faults == ()
    bundle = imported.catalog.packages[0].bundles[0]
    assert [str(one) for one in bundle.owned] == ["A a.example/v1"]
    assert [str(one) for one in bundle.required] == ["B b.example/v1", "D d.example/v1"]
    assert [(one.package, one.range) for one in bundle.packages] == [("c", ">1.0.0")]
    assert (bundle.min_kubernetes, bundle.max_kubernetes, bundle.max_openshift) == ("1.30.0", "1.38", "4.24")
    assert bundle.apis == ("apiextensions.k8s.io/v1 CustomResourceDefinition",)
    assert bundle.uninstallable == ("webhooks", "API services")
    stable = imported.catalog.packages[0].channel("stable")
    assert stable
    assert stable.entries == (entry("1.0.0", "0.9.0", ("0.8.0",), "<0.5.0"),)
    manifests = payload.unpacked(bundle.payload, imported.payloads[bundle.payload])
    assert [one["kind"] for one in manifests] == ["ClusterServiceVersion", "CustomResourceDefinition"]


@pytest.mark.parametrize(
    ("manifests", "annotations", "expected", "message"),
    [
        ((CRD,), {}, FaultKind.BUNDLE, "app/2.0.0: it has 0 ClusterServiceVersions, not one"),
        ((csv("2.0.0"), csv("2.0.1")), {}, FaultKind.BUNDLE, "app/2.0.0: it has 2 ClusterServiceVersions"),
        ((csv("two"),), {}, FaultKind.VERSION, "app/2.0.0: version of app.vtwo: 'two' is not a semantic"),
        ((csv("2.0.0", skips="none"),), {}, FaultKind.BUNDLE, "app/2.0.0: Expected `array | null`"),
        ((csv("2.0.0") | {"spec": {"version": 2.1}},), {}, FaultKind.BUNDLE, "app/2.0.0: spec.version is a"),
        ((csv("2.0.0"),), {PACKAGE: "other"}, FaultKind.BUNDLE, "app/2.0.0: it is of package 'other'"),
        ((csv("2.0.0"),), {CHANNELS: " ,"}, FaultKind.BUNDLE_WITHOUT_CHANNEL, "app.v2.0.0 is in no channel"),
    ],
)
def test_a_bundle_that_cannot_be_used_is_named_and_the_others_stay(
    tmp_path: Path,
    manifests: tuple[Json, ...],
    annotations: dict[str, str],
    expected: FaultKind,
    message: str,
) -> None:
    write_bundle(tmp_path, "1.0.0")
    write_bundle(tmp_path, "2.0.0", *manifests, **annotations)
    catalog = sources.load(tmp_path).catalog
    assert [one.version for one in catalog.packages[0].bundles] == ["1.0.0"]
    assert kinds(list(catalog.faults)) == [expected]
    assert catalog.faults[0].message.startswith(message)


def test_files_that_are_no_yaml_cost_their_bundle(tmp_path: Path) -> None:
    write_bundle(tmp_path, "1.0.0")
    broken = write_bundle(tmp_path, "2.0.0")
    (broken / "manifests/2.yaml").write_text("a: [")
    nameless = write_bundle(tmp_path, "3.0.0")
    (nameless / "metadata/annotations.yaml").unlink()
    catalog = sources.load(tmp_path).catalog
    assert [one.version for one in catalog.packages[0].bundles] == ["1.0.0"]
    assert [fault.message for fault in catalog.faults] == [
        "app/2.0.0: manifests/2.yaml: it is no YAML: line 2: did not find expected node content",
        "app/3.0.0: its metadata names no package and no channels",
    ]


def test_an_update_graph_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    write_bundle(tmp_path, "1.0.0")
    (tmp_path / "app/ci.yaml").write_text("updateGraph: [")
    catalog = sources.load(tmp_path).catalog
    assert len(catalog.packages) == 1
    assert kinds(list(catalog.faults)) == [FaultKind.FILE]


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "catalog", "1.0.0")
    secret = tmp_path / "secret.yaml"
    secret.write_text("kind: Secret\n")
    (folder / "manifests/link.yaml").symlink_to(secret)
    bundle = sources.load(tmp_path / "catalog").catalog.packages[0].bundles[0]
    assert bundle.apis == ("apiextensions.k8s.io/v1 CustomResourceDefinition",)


def write_documents(folder: Path, name: str) -> None:
    documents = [
        package_document(name),
        channel_document({"name": "app.v1.0.0"}, package=name),
        bundle_document("1.0.0", name),
    ]
    (folder / name).mkdir(parents=True)
    (folder / name / "catalog.yaml").write_text(yaml.safe_dump_all(documents))


def test_a_file_based_catalog_is_read_from_all_its_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_documents(tmp_path, name)
    (tmp_path / "README.md").write_text("# not a document")
    catalog = sources.load(tmp_path).catalog
    assert [package.name for package in catalog.packages] == ["one", "two"]
    assert catalog.faults == ()


def test_a_file_that_is_no_yaml_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    write_documents(tmp_path, "one")
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / ".indexignore").write_text("one")
    catalog = sources.load(tmp_path).catalog
    assert [package.name for package in catalog.packages] == ["one"]
    assert [fault.message for fault in catalog.faults] == [
        ".indexignore is not followed",
        "broken.yaml: it is no YAML: line 2: did not find expected node content",
    ]


def test_fifty_megabytes_that_are_no_catalog_are_named(tmp_path: Path) -> None:
    write_documents(tmp_path, "one")
    (tmp_path / "huge.yaml").write_bytes(b"- x\n" * (50 << 18))
    catalog = sources.load(tmp_path).catalog
    assert [package.name for package in catalog.packages] == ["one"]
    assert [fault.message for fault in catalog.faults] == [
        "huge.yaml: it is YAML of more than 16 MiB; write it as JSON"
    ]


def test_one_file_is_a_catalog_too(tmp_path: Path) -> None:
    write_documents(tmp_path, "one")
    assert sources.load(tmp_path / "one/catalog.yaml").catalog.packages[0].name == "one"


def test_what_was_written_is_loaded_again(tmp_path: Path) -> None:
    write_bundle(tmp_path / "bundles", "1.0.0")
    imported = sources.load(tmp_path / "bundles")
    sources.write(imported, tmp_path / "out")
    assert sources.load(tmp_path / "out").catalog == imported.catalog
    assert sources.load(tmp_path / "out" / sources.INDEX).catalog == imported.catalog
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"bundles", "index.json.gz"}
    (digest,) = imported.payloads
    (written,) = (tmp_path / "out" / "bundles").iterdir()
    assert payload.unpacked(digest, written.read_bytes())


@pytest.mark.parametrize("name", ["", "nothing", "empty"])
def test_where_there_is_nothing_that_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(sources.SourceError, match=r"is not there|has neither an index, nor bundles"):
        sources.load(tmp_path / name)


def test_an_index_that_is_broken_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "index.json.gz").write_bytes(b"\x1f\x8b no")
    with pytest.raises(sources.SourceError, match=r"index\.json\.gz: it is no gzip"):
        sources.load(tmp_path)


def test_json_is_read_as_well(tmp_path: Path) -> None:
    documents = [package_document(), channel_document({"name": "app.v1.0.0"}), bundle_document("1.0.0")]
    (tmp_path / "catalog.json").write_bytes(b"\n".join(msgspec.json.encode(one) for one in documents))
    assert sources.load(tmp_path).catalog.bundles == 1


def test_a_file_that_is_no_catalog_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "garbage.bin").write_bytes(b"\x00\x01")
    with pytest.raises(sources.SourceError, match=r"garbage\.bin is neither an index, nor YAML or JSON"):
        sources.load(tmp_path / "garbage.bin")


def written(tmp_path: Path) -> Path:
    """The folder of an index of two versions, with their manifests."""
    for version in ("1.0.0", "1.1.0"):
        write_bundle(tmp_path / "bundles", version)
    (tmp_path / "bundles/app/ci.yaml").write_text("updateGraph: semver-mode\n")
    sources.write(sources.load(tmp_path / "bundles"), tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("named", ["out", "out/index.json.gz"])
def test_manifests_beside_an_index_are_gathered(tmp_path: Path, named: str) -> None:
    before = sources.load(written(tmp_path).parent / "bundles")
    path = tmp_path / named
    assert sources.gathered(path, sources.load(path)) == before


def test_what_already_has_its_manifests_is_gathered_as_it_is(tmp_path: Path) -> None:
    imported = sources.load(written(tmp_path).parent / "bundles")
    assert sources.gathered(tmp_path / "bundles", imported) == imported


def test_manifests_that_are_missing_or_not_those_that_are_meant_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path)
    imported = sources.load(folder)
    lost, changed = (one.payload.removeprefix("sha256:") for one in imported.catalog.packages[0].bundles)
    (folder / f"bundles/{lost}.json.gz").unlink()
    (folder / f"bundles/{changed}.json.gz").write_bytes(payload.packed([])[1])
    gathered = sources.gathered(folder, imported)
    assert gathered.payloads == {}
    assert [(one.package, one.kind, one.message) for one in gathered.catalog.faults] == [
        (
            "app",
            FaultKind.BUNDLE_WITHOUT_CONTENT,
            "the manifests of app.v1.0.0 cannot be had: it cannot be read: No such file or directory",
        ),
        (
            "app",
            FaultKind.BUNDLE_WITHOUT_CONTENT,
            f"the manifests of app.v1.1.0 cannot be had: it is not what sha256:{changed} names",
        ),
    ]
    assert sources.gathered(folder, gathered).catalog == gathered.catalog, "what is known is not told twice"


@pytest.mark.parametrize("digest", ["sha256:../../secret", "sha256:\x00", "secret"])
def test_a_digest_that_is_none_leads_to_no_file(tmp_path: Path, digest: str) -> None:
    imported = sources.load(written(tmp_path))
    with pytest.raises(sources.UnreadableError, match="is no digest"):
        sources.manifests(tmp_path / "out", imported, digest)
