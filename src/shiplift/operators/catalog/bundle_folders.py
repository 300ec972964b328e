"""Folders of OLM bundles: manifests and metadata of each version, and `ci.yaml` of the package.

Kept true: a bundle that cannot be read is named and left out; the others of its package stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from shiplift.operators.catalog import csv, payload
from shiplift.operators.catalog.documents import UnreadableError, documents, field_fault
from shiplift.operators.catalog.model import Bundle, Crd, Fault, FaultKind, Package
from shiplift.operators.catalog.releases import Release
from shiplift.operators.catalog.releases import package as released
from shiplift.operators.catalog.semver import SemverError, parse

_PREFIX = "operators.operatorframework.io.bundle."
Json = dict[str, Any]


class BundleFolder(msgspec.Struct, frozen=True):
    """The files of one bundle, by name: those in `manifests`, those in `metadata`."""

    path: str
    manifests: Mapping[str, bytes]
    metadata: Mapping[str, bytes]


class PackageFolder(msgspec.Struct, frozen=True):
    """The bundles of a package, and its `ci.yaml` where there is one."""

    name: str
    bundles: tuple[BundleFolder, ...]
    ci: bytes = b""


class _Annotations(msgspec.Struct):
    annotations: dict[str, str] | None = None


class BundleError(ValueError):
    """A bundle that cannot be used."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


Built = tuple[Package | None, list[Fault], dict[str, bytes]]


def package(folder: PackageFolder) -> Built:
    """The package, everything that is wrong, and the packed manifests of its bundles."""
    faults: list[Fault] = []
    payloads: dict[str, bytes] = {}
    releases: list[Release] = []
    for bundle in folder.bundles:
        try:
            release, packed = _release(folder.name, bundle)
        except BundleError as error:
            faults.append(Fault(folder.name, error.kind, f"{bundle.path}: {error}"))
        else:
            releases.append(release)
            payloads[release.bundle.payload] = packed
    built, more = released(folder.name, releases, _mode(folder, faults))
    kept = {bundle.payload for bundle in built.bundles} if built else set[str]()
    return built, faults + more, {digest: data for digest, data in payloads.items() if digest in kept}


def _mode(folder: PackageFolder, faults: list[Fault]) -> str:
    try:
        found = [cast("Json", one) for one in documents(folder.ci) if isinstance(one, dict)]
    except UnreadableError as error:
        faults.append(Fault(folder.name, FaultKind.FILE, f"ci.yaml: {error}"))
        return ""
    mode = found[0].get("updateGraph") if found else None
    return str(mode or "")


def _release(package: str, folder: BundleFolder) -> tuple[Release, bytes]:
    manifests = _manifests(folder)
    versions = [one for one in manifests if payload.is_csv(one)]
    if len(versions) != 1:
        raise BundleError(FaultKind.BUNDLE, f"it has {len(versions)} ClusterServiceVersions, not one")
    try:
        version = csv.read(versions[0])
        needs = _needs(folder, version)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise BundleError(FaultKind.BUNDLE, field_fault(error)) from error
    said = _annotations(folder)
    if (of := said.get(f"{_PREFIX}package.v1", package)) != package:
        raise BundleError(FaultKind.BUNDLE, f"it is of package {of[:80]!r}, in the folder of {package}")
    digest, packed = _packed(manifests)
    bundle = bundle_of(version, needs, payload.apis(manifests), digest)
    spec = version.spec
    release = Release(
        bundle=bundle,
        channels=_channels(said.get(f"{_PREFIX}channels.v1", "")),
        default_channel=said.get(f"{_PREFIX}channel.default.v1", "").strip(),
        replaces=spec.replaces or "",
        skips=tuple(spec.skips or ()),
        skip_range=csv.annotated(version).get(csv.SKIP_RANGE, ""),
    )
    return release, packed


def _packed(manifests: list[Json]) -> tuple[str, bytes]:
    try:
        return payload.packed(manifests)
    except (TypeError, ValueError, RecursionError) as error:
        raise BundleError(FaultKind.FILE, f"a manifest is no Kubernetes object: {error}") from error


def _channels(text: str) -> tuple[str, ...]:
    return tuple(sorted({name.strip() for name in text.split(",")} - {""}))


def bundle_of(
    version: csv.ClusterServiceVersion, needs: csv.Needs, apis: tuple[str, ...] = (), digest: str = ""
) -> Bundle:
    """What a ClusterServiceVersion says of itself."""
    spec = version.spec
    name = version.metadata.name or ""
    try:
        _ = parse(spec.version or "")
    except SemverError as error:
        raise BundleError(FaultKind.VERSION, f"version of {name or 'it'}: {error}") from error
    if not name:
        raise BundleError(FaultKind.BUNDLE, "its ClusterServiceVersion has no name")
    described = spec.customresourcedefinitions or csv.CrdDescriptions()
    owned = csv.crds(described.owned)
    return Bundle(
        name=name,
        version=spec.version or "",
        min_kubernetes=spec.min_kube_version or "",
        max_kubernetes=csv.annotated(version).get(csv.MAX_KUBERNETES, ""),
        max_openshift=needs.max_openshift,
        owned=_distinct(owned, needs.owned),
        required=_distinct(csv.crds(described.required), needs.required),
        packages=tuple(sorted(set(needs.packages))),
        apis=apis,
        uninstallable=(*csv.uninstallable(version), *(["combined constraints"] if needs.constraints else [])),
        payload=digest,
    )


def _distinct(*described: Iterable[Crd]) -> tuple[Crd, ...]:
    """Each of a group, kind and version once: the one whose plural is known."""
    found: dict[tuple[str, str, str], Crd] = {}
    for crd in (crd for crds in described for crd in crds):
        found.setdefault((crd.group, crd.kind, crd.version), crd)
    return tuple(found.values())


def _needs(folder: BundleFolder, version: csv.ClusterServiceVersion) -> csv.Needs:
    """What its properties and its dependencies say together."""
    listed = [*csv.properties(version), *_listed_properties(folder)]
    said = csv.needs(listed)
    written = _metadata(folder, "dependencies.yaml")
    needed = csv.dependencies(written) if written is not None else csv.Needs()
    return msgspec.structs.replace(
        said,
        required=(*said.required, *needed.required),
        packages=(*said.packages, *needed.packages),
        constraints=said.constraints or needed.constraints,
    )


def _listed_properties(folder: BundleFolder) -> list[csv.Property]:
    document = _metadata(folder, "properties.yaml")
    return msgspec.convert(document, _Properties).properties or [] if document is not None else []


class _Properties(msgspec.Struct):
    properties: list[csv.Property] | None = None


def _annotations(folder: BundleFolder) -> dict[str, str]:
    """From whichever file of the metadata has them."""
    for name in sorted(folder.metadata):
        document = _metadata(folder, name)
        try:
            found = msgspec.convert(document, _Annotations).annotations if document is not None else None
        except msgspec.ValidationError as error:
            raise BundleError(FaultKind.BUNDLE, f"metadata/{name}: {field_fault(error)}") from error
        if found:
            return found
    raise BundleError(FaultKind.BUNDLE, "its metadata names no package and no channels")


def _metadata(folder: BundleFolder, name: str) -> Any:
    found = _documents(f"metadata/{name}", folder.metadata.get(name, b""))
    return found[0] if found else None


def _manifests(folder: BundleFolder) -> list[Json]:
    found: list[Json] = []
    for name, data in sorted(folder.manifests.items()):
        objects = [
            cast("Json", one) for one in _documents(f"manifests/{name}", data) if isinstance(one, dict)
        ]
        found += [one for one in objects if one.get("kind")]
    return found


def _documents(name: str, data: bytes) -> list[Any]:
    try:
        return documents(data)
    except UnreadableError as error:
        raise BundleError(FaultKind.FILE, f"{name}: {error}") from error
