"""Small catalogs for tests, written as their authors would."""

from __future__ import annotations

from typing import Any

from shiplift.operators.catalog.file_based import Documents
from shiplift.operators.catalog.graph import Installed
from shiplift.operators.catalog.model import Bundle, Channel, Entry, Fault, FaultKind, Package
from shiplift.operators.catalog.releases import Release
from shiplift.operators.catalog.semver import parse

Json = dict[str, Any]


def bundle(version: str, **fields: Any) -> Bundle:
    return Bundle(name=f"app.v{version}", version=version, **fields)


def entry(version: str, replaces: str = "", skips: tuple[str, ...] = (), skip_range: str = "") -> Entry:
    """Of versions, where the catalog has names."""
    return Entry(f"app.v{version}", f"app.v{replaces}" if replaces else "", named(skips), skip_range)


def named(versions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"app.v{version}" for version in versions)


def package(*entries: Entry, bundles: tuple[Bundle, ...] = (), **channels: tuple[Entry, ...]) -> Package:
    """Channel `stable` has the entries; others are named."""
    all_ = {"stable": entries, **channels}
    versions = {one.name for listed in all_.values() for one in listed} - {one.name for one in bundles}
    made = [bundle(name.removeprefix("app.v")) for name in sorted(versions)]
    return Package(
        "app", "stable", tuple(Channel(name, listed) for name, listed in all_.items()), (*bundles, *made)
    )


def installed(version: str) -> Installed:
    return Installed(f"app.v{version}", parse(version))


def release(version: str, *channels: str, **fields: Any) -> Release:
    return Release(bundle=bundle(version), channels=channels or ("stable",), **fields)


def package_document(name: str = "app", default: str = "stable") -> Json:
    return {"schema": "olm.package", "name": name, "defaultChannel": default}


def channel_document(*entries: Json, name: str = "stable", package: str = "app") -> Json:
    return {"schema": "olm.channel", "package": package, "name": name, "entries": list(entries)}


def bundle_document(version: str, package: str = "app", **fields: Any) -> Json:
    says = {"type": "olm.package", "value": {"packageName": package, "version": version}}
    usual = {"image": f"registry.example/{package}:{version}", "properties": [says]}
    return {"schema": "olm.bundle", "package": package, "name": f"app.v{version}"} | usual | fields


def built(*documents: Any) -> tuple[list[Package], list[Fault]]:
    pieces = Documents()
    for document in documents:
        pieces.add("catalog.yaml", document)
    packages, faults, _ = pieces.built()
    return packages, faults


def kinds(faults: list[Fault]) -> list[FaultKind]:
    return [fault.kind for fault in faults]
