"""The public data about operators that tests and benchmarks read where it is present: in `../shared/data`
beside a clone, or in the folder that SHIPLIFT_DATA names."""

from __future__ import annotations

import gzip
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from shiplift.operators.catalog import csv, releases
from shiplift.operators.catalog.documents import UnreadableError, documents
from shiplift.operators.catalog.model import Bundle, Crd, Fault, Package, PackageNeed
from shiplift.operators.catalog.releases import Release

_BESIDE = Path(__file__).parents[2].parent / "shared" / "data"
Json = dict[str, Any]


class Row(msgspec.Struct, rename="camel"):
    """One line: what the ClusterServiceVersion of a bundle says."""

    package: str
    name: str
    version: str
    replaces: str | None
    skips: list[str]
    skip_range: str | None
    min_kube_version: str | None
    owned: list[csv.CrdDescription]
    required: list[csv.CrdDescription]
    channels: list[str]
    default_channel: str | None
    update_graph: str | None
    dependencies: str = ""

    def release(self) -> Release:
        needs = _needs(self.dependencies)
        bundle = Bundle(
            name=self.name,
            version=self.version,
            min_kubernetes=self.min_kube_version or "",
            owned=csv.crds(self.owned),
            required=(*csv.crds(self.required), *needs.required),
            packages=needs.packages,
            image=f"registry.example/{self.package}:{self.version.replace('+', '_')}",
        )
        return Release(
            bundle=bundle,
            channels=tuple(self.channels),
            default_channel=self.default_channel or "",
            replaces=self.replaces or "",
            skips=tuple(self.skips),
            skip_range=self.skip_range or "",
        )


def _needs(text: str) -> csv.Needs:
    """Of a few, the file is no YAML; the rows are about more than that."""
    try:
        found = documents(text.encode()) if text else []
        return csv.dependencies(found[0]) if found else csv.Needs()
    except (UnreadableError, msgspec.ValidationError):
        return csv.Needs()


def folder() -> Path:
    return Path(os.environ.get("SHIPLIFT_DATA") or _BESIDE)


def bundles() -> Path | None:
    """The archive of whole bundles, where it is present."""
    path = folder() / "bundles.tar.gz"
    return path if path.is_file() else None


def rows() -> dict[str, list[Row]] | None:
    """All bundles of the catalog, package by package, where it is present."""
    path = folder() / "community-operators.jsonl.gz"
    if not path.is_file():
        return None
    found: dict[str, list[Row]] = defaultdict(list)
    with gzip.open(path) as file:
        for row in msgspec.json.Decoder(Row).decode_lines(file.read()):
            found[row.package].append(row)
    return dict(found)


def package(name: str, listed: list[Row]) -> tuple[Package | None, list[Fault]]:
    """The package by its own update graph."""
    return releases.package(name, [row.release() for row in listed], listed[0].update_graph or "")


def file_based(package: Package) -> Iterator[Json]:
    """The package as documents of a file-based catalog."""
    yield {"schema": "olm.package", "name": package.name, "defaultChannel": package.default_channel}
    for channel in package.channels:
        entries = [
            {"name": one.name}
            | ({"replaces": one.replaces} if one.replaces else {})
            | ({"skips": list(one.skips)} if one.skips else {})
            | ({"skipRange": one.skip_range} if one.skip_range else {})
            for one in channel.entries
        ]
        yield {"schema": "olm.channel", "package": package.name, "name": channel.name, "entries": entries}
    listed = {entry.name for channel in package.channels for entry in channel.entries}
    for bundle in package.bundles:
        if bundle.name in listed:
            yield _bundle(package.name, bundle)


def _bundle(package: str, bundle: Bundle) -> Json:
    properties = [
        {"type": "olm.package", "value": {"packageName": package, "version": bundle.version}},
        *({"type": "olm.gvk", "value": _gvk(crd)} for crd in bundle.owned),
        *({"type": "olm.gvk.required", "value": _gvk(crd)} for crd in bundle.required),
        *({"type": "olm.package.required", "value": _need(need)} for need in bundle.packages),
        {"type": "olm.csv.metadata", "value": _metadata(bundle)},
    ]
    named = {"schema": "olm.bundle", "package": package, "name": bundle.name}
    return named | {"image": bundle.image, "properties": properties}


def _gvk(crd: Crd) -> Json:
    return {"group": crd.group, "kind": crd.kind, "version": crd.version}


def _need(need: PackageNeed) -> Json:
    return {"packageName": need.package, "versionRange": need.range}


def _metadata(bundle: Bundle) -> Json:
    return {"minKubeVersion": bundle.min_kubernetes} if bundle.min_kubernetes else {}


def write(package: Package, folder: Path) -> None:
    """One file a package, as `opm` lays them out."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.format(msgspec.json.encode(one)) for one in file_based(package)]
    (folder / "catalog.json").write_bytes(b"\n".join(lines))
