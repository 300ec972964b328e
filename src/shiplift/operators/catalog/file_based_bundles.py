"""Bundles of a file-based catalog: what their properties say, and the manifests that some carry along."""

from __future__ import annotations

import base64
import binascii
from typing import Any, cast

import msgspec

from shiplift.operators.catalog import csv, payload
from shiplift.operators.catalog.documents import UnreadableError, documents, field_fault
from shiplift.operators.catalog.model import Bundle, Crd, Fault, FaultKind
from shiplift.operators.catalog.semver import SemverError, parse

Json = dict[str, Any]


class BundleDocument(msgspec.Struct):
    name: str | None = None
    package: str | None = None
    image: str | None = None
    properties: list[csv.Property] | None = None


class _Package(msgspec.Struct, rename="camel"):
    package_name: str = ""
    version: str = ""
    release: str = ""


class _Object(msgspec.Struct):
    data: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    """`olm.csv.metadata`: a ClusterServiceVersion without its installation."""

    annotations: dict[str, str] | None = None
    crd_descriptions: csv.CrdDescriptions | None = None
    api_service_definitions: csv.ApiServices | None = None
    min_kube_version: str | None = None


Built = tuple[Bundle | None, list[Fault], dict[str, bytes]]


def bundle(package: str, document: BundleDocument) -> Built:
    """The bundle, unless it cannot be used, what is wrong, and its packed manifests where it carries them."""
    name = document.name or ""
    try:
        read = _read(package, document)
    except (msgspec.ValidationError, UnreadableError) as error:
        why = field_fault(error) if isinstance(error, msgspec.ValidationError) else error
        return None, [Fault(package, FaultKind.BUNDLE, f"{name or 'a bundle'}: {why}")], {}
    except SemverError as error:
        return None, [Fault(package, FaultKind.VERSION, f"version of {name}: {error}")], {}
    if read.bundle.image or read.packed:
        return read.bundle, [], read.packed
    message = f"{name} has neither an image nor objects"
    return read.bundle, [Fault(package, FaultKind.BUNDLE_WITHOUT_CONTENT, message)], {}


class _Read(msgspec.Struct, frozen=True):
    bundle: Bundle
    packed: dict[str, bytes]


def _read(package: str, document: BundleDocument) -> _Read:
    if not document.name:
        raise UnreadableError("it has no name")
    listed = document.properties or []
    version = _version(package, listed)
    manifests = _objects(listed)
    needs = csv.needs(listed)
    said = _metadata(listed, manifests)
    packed = dict([payload.packed(manifests)]) if manifests else {}
    described = said.crd_descriptions or csv.CrdDescriptions()
    return _Read(
        Bundle(
            name=document.name,
            version=version,
            min_kubernetes=said.min_kube_version or "",
            max_kubernetes=(said.annotations or {}).get(csv.MAX_KUBERNETES, ""),
            max_openshift=needs.max_openshift,
            owned=needs.owned or csv.crds(described.owned),
            required=_required(needs, described),
            packages=needs.packages,
            apis=payload.apis(manifests),
            uninstallable=_uninstallable(needs, said, manifests),
            image=document.image or "",
            payload=next(iter(packed), ""),
        ),
        packed,
    )


def _version(package: str, listed: list[csv.Property]) -> str:
    found = [msgspec.convert(one.value, _Package) for one in listed if one.type == "olm.package"]
    if len(found) != 1:
        raise UnreadableError(f"it has {len(found)} properties olm.package, not one")
    if found[0].package_name != package:
        raise UnreadableError(f"it says that it is of package {found[0].package_name[:80]!r}")
    return parse(found[0].version).text


def _required(needs: csv.Needs, described: csv.CrdDescriptions) -> tuple[Crd, ...]:
    return needs.required or csv.crds(described.required)


def _objects(listed: list[csv.Property]) -> list[Json]:
    manifests: list[Json] = []
    for one in listed:
        if one.type == "olm.bundle.object":
            text = msgspec.convert(one.value, _Object).data
            try:
                data = base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise UnreadableError(f"an object is not base64: {error}") from error
            manifests += [cast("Json", one) for one in documents(data) if isinstance(one, dict)]
    return manifests


def _metadata(listed: list[csv.Property], manifests: list[Json]) -> _Metadata:
    """What its ClusterServiceVersion says, from the manifest or the property."""
    for manifest in manifests:
        if payload.is_csv(manifest):
            spec = csv.read(manifest)
            return _Metadata(
                csv.annotated(spec),
                spec.spec.customresourcedefinitions,
                spec.spec.apiservicedefinitions,
                spec.spec.min_kube_version,
            )
    found = [msgspec.convert(one.value, _Metadata) for one in listed if one.type == "olm.csv.metadata"]
    return found[0] if found else _Metadata()


def _uninstallable(needs: csv.Needs, said: _Metadata, manifests: list[Json]) -> tuple[str, ...]:
    versions = [csv.read(one) for one in manifests if payload.is_csv(one)]
    found = list(csv.uninstallable(versions[0])) if versions else []
    services = said.api_service_definitions
    if not versions and services and (services.owned or services.required):
        found.append("API services")
    return (*found, *(["combined constraints"] if needs.constraints else []))
