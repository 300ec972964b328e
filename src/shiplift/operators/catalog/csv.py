"""What a ClusterServiceVersion, OLM's description of one version of an operator, says about it.

Kept true: whatever somebody wrote into one, reading it either gives what it says or names what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shiplift.operators.catalog.model import Crd, PackageNeed

SKIP_RANGE = "olm.skipRange"
PROPERTIES = "olm.properties"
MAX_KUBERNETES = "operators.shiplift.dev/max-kubernetes-version"
"""OLM has no such thing but for OpenShift."""
Json = dict[str, Any]


class _Loose(msgspec.Struct, rename="camel"):
    """What OLM's tools read may be absent or null, but not of another type."""


class Metadata(_Loose):
    name: str | None = None
    annotations: dict[str, str] | None = None


class CrdDescription(_Loose):
    """A CustomResourceDefinition that a version owns or requires."""

    name: str | None = None
    version: str | None = None
    kind: str | None = None

    def crd(self) -> Crd:
        plural, _, group = (self.name or "").partition(".")
        return Crd(self.kind or "", self.version or "", group, plural)


class CrdDescriptions(_Loose):
    owned: list[CrdDescription] | None = None
    required: list[CrdDescription] | None = None


class ApiServices(_Loose):
    owned: list[Json] | None = None
    required: list[Json] | None = None


class Install(_Loose):
    strategy: str | None = None


class Spec(_Loose):
    version: str | None = None
    replaces: str | None = None
    skips: list[str] | None = None
    min_kube_version: str | None = None
    install: Install | None = None
    customresourcedefinitions: CrdDescriptions | None = None
    apiservicedefinitions: ApiServices | None = None
    webhookdefinitions: list[Json] | None = None


class ClusterServiceVersion(_Loose):
    metadata: Metadata
    spec: Spec


class Property(_Loose):
    """A typed fact about a bundle: of OLM, or of somebody else."""

    type: str = ""
    value: Any = None


class _Gvk(_Loose):
    group: str = ""
    kind: str = ""
    version: str = ""


class _PackageRequired(_Loose):
    package_name: str = ""
    version_range: str = ""


class _OldPackageRequired(_Loose):
    """As `metadata/dependencies.yaml` writes it."""

    package_name: str = ""
    version: str = ""


def read(document: Any) -> ClusterServiceVersion:
    """A `msgspec.ValidationError` names the field that is of another type."""
    return msgspec.convert(document, ClusterServiceVersion)


def annotated(csv: ClusterServiceVersion) -> dict[str, str]:
    return csv.metadata.annotations or {}


def properties(csv: ClusterServiceVersion) -> list[Property]:
    """Those in its annotation; a `msgspec.DecodeError` where that is no list of them."""
    text = annotated(csv).get(PROPERTIES, "")
    return msgspec.json.decode(text, type=list[Property]) if text else []


def crds(described: Iterable[CrdDescription] | None) -> tuple[Crd, ...]:
    return tuple(one.crd() for one in described or ())


def uninstallable(csv: ClusterServiceVersion) -> tuple[str, ...]:
    """What it brings that is not installed, in words."""
    spec, found = csv.spec, list[str]()
    if spec.webhookdefinitions:
        found.append("webhooks")
    if spec.apiservicedefinitions and (
        spec.apiservicedefinitions.owned or spec.apiservicedefinitions.required
    ):
        found.append("API services")
    strategy = spec.install.strategy if spec.install else None
    if strategy != "deployment":
        found.append(f"the install strategy {strategy!r}")
    return tuple(found)


class Needs(msgspec.Struct, frozen=True):
    """What properties say that a bundle needs and owns."""

    owned: tuple[Crd, ...] = ()
    required: tuple[Crd, ...] = ()
    packages: tuple[PackageNeed, ...] = ()
    max_openshift: str = ""
    constraints: bool = False
    """It has constraints that combine others; nobody evaluates them here."""


def needs(properties: Sequence[Property]) -> Needs:
    """A `msgspec.ValidationError` names what is not as OLM writes it."""
    of = {name: [one.value for one in properties if one.type == name] for name in _TYPES}
    return Needs(
        owned=tuple(_gvk(value) for value in of["olm.gvk"]),
        required=tuple(_gvk(value) for value in of["olm.gvk.required"]),
        packages=tuple(_required(value) for value in of["olm.package.required"]),
        max_openshift=str(of["olm.maxOpenShiftVersion"][0]) if of["olm.maxOpenShiftVersion"] else "",
        constraints=bool(of["olm.constraint"]),
    )


_TYPES = (
    "olm.gvk",
    "olm.gvk.required",
    "olm.package.required",
    "olm.maxOpenShiftVersion",
    "olm.constraint",
)


def _gvk(value: Any) -> Crd:
    read = msgspec.convert(value, _Gvk)
    return Crd(read.kind, read.version, read.group)


def _required(value: Any) -> PackageNeed:
    read = msgspec.convert(value, _PackageRequired)
    return PackageNeed(read.package_name, read.version_range)


def dependencies(document: Any) -> Needs:
    """What `metadata/dependencies.yaml` says; there `olm.gvk` and `olm.package` are what is required."""
    listed = msgspec.convert(document, _Dependencies).dependencies or []
    packages = [
        msgspec.convert(one.value, _OldPackageRequired) for one in listed if one.type == "olm.package"
    ]
    return Needs(
        required=tuple(_gvk(one.value) for one in listed if one.type == "olm.gvk"),
        packages=tuple(PackageNeed(one.package_name, one.version) for one in packages),
        constraints=any(one.type == "olm.constraint" for one in listed),
    )


class _Dependencies(_Loose):
    dependencies: list[Property] | None = None
