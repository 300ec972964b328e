"""A catalog as values: packages with channels and bundles, and a closed list of what can be wrong with them.

Kept true: a fault costs what it is about (an entry, a bundle, a channel, a package, a file) and nothing else.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class FaultKind(StrEnum):
    """What can be wrong with a catalog."""

    FILE = "File"
    """It is no YAML or JSON, too large, or not to be read."""
    IGNORE_FILE = "IgnoreFile"
    """A file that says what to leave out, and is not followed."""
    DOCUMENT = "Document"
    """It names no package, or is not what its schema says."""
    PACKAGE_NAME = "PackageName"
    PACKAGE_MISSING = "PackageMissing"
    """Channels or bundles of a package that the catalog does not introduce."""
    PACKAGE_TWICE = "PackageTwice"
    NO_CHANNEL = "NoChannel"
    DEFAULT_CHANNEL = "DefaultChannel"
    CHANNEL_NAME = "ChannelName"
    CHANNEL_TWICE = "ChannelTwice"
    CHANNEL_EMPTY = "ChannelEmpty"
    ENTRY_TWICE = "EntryTwice"
    ENTRY_WITHOUT_BUNDLE = "EntryWithoutBundle"
    SKIPS = "Skips"
    """It skips a version without a name."""
    SKIP_RANGE = "SkipRange"
    NO_HEAD = "NoHead"
    """Each version is replaced by another: a circle."""
    SEVERAL_HEADS = "SeveralHeads"
    CYCLE = "Cycle"
    STRANDED = "Stranded"
    """A version that the chain from the head does not reach."""
    BUNDLE = "Bundle"
    """It has no name or no properties that can be read, or is not of its package."""
    BUNDLE_TWICE = "BundleTwice"
    BUNDLE_WITHOUT_CHANNEL = "BundleWithoutChannel"
    BUNDLE_WITHOUT_CONTENT = "BundleWithoutContent"
    """Neither an image nor objects: it can be drawn and never be installed."""
    VERSION = "Version"
    VERSION_TWICE = "VersionTwice"
    UPDATE_GRAPH = "UpdateGraph"
    """A mode that nobody knows."""
    DEPRECATION = "Deprecation"


LEAVE_VERSIONS_OUT = frozenset(
    {
        FaultKind.FILE,
        FaultKind.DOCUMENT,
        FaultKind.ENTRY_WITHOUT_BUNDLE,
        FaultKind.BUNDLE,
        FaultKind.BUNDLE_TWICE,
        FaultKind.VERSION,
    }
)
"""Faults by which a channel may lack versions that it should have."""


class Fault(msgspec.Struct, frozen=True, order=True):
    """One thing that is wrong, and in which package; empty where no package can be told."""

    package: str
    kind: FaultKind
    message: str

    @property
    def leaves_versions_out(self) -> bool:
        """Whether a channel of the package may lack a version for it."""
        return self.kind in LEAVE_VERSIONS_OUT


class Crd(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One version of a CustomResourceDefinition; its plural is not known where only group and kind are."""

    kind: str
    version: str
    group: str
    plural: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.group}/{self.version}"


class PackageNeed(msgspec.Struct, frozen=True, gc=False, order=True):
    """Another package that must be there, in one of these versions."""

    package: str
    range: str


class Bundle(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One version of an operator."""

    name: str
    version: str
    min_kubernetes: str = ""
    max_kubernetes: str = ""
    max_openshift: str = ""
    owned: tuple[Crd, ...] = ()
    required: tuple[Crd, ...] = ()
    packages: tuple[PackageNeed, ...] = ()
    apis: tuple[str, ...] = ()
    """What its manifests are, as `apps/v1 Deployment`; empty where the catalog does not hold them."""
    uninstallable: tuple[str, ...] = ()
    """What it brings that is not installed: webhooks, API services."""
    image: str = ""
    payload: str = ""
    """The digest of its manifests, where the catalog holds them."""
    deprecated: str = ""


class Entry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A bundle in a channel, and which others it takes over from."""

    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""


class Channel(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A line of versions that somebody can follow."""

    name: str
    entries: tuple[Entry, ...]
    deprecated: str = ""


class Package(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One operator, in all of its versions."""

    name: str
    default_channel: str
    channels: tuple[Channel, ...]
    bundles: tuple[Bundle, ...]
    deprecated: str = ""

    def channel(self, name: str) -> Channel | None:
        return next((channel for channel in self.channels if channel.name == name), None)

    def bundle(self, name: str) -> Bundle | None:
        """By its name, or else by its version, with or without a `v`."""
        version = name.removeprefix("v")
        named = [bundle for bundle in self.bundles if bundle.name == name]
        return next(iter(named or [bundle for bundle in self.bundles if bundle.version == version]), None)


class Catalog(msgspec.Struct, frozen=True):
    """All packages, by name, and everything that is wrong."""

    packages: tuple[Package, ...]
    faults: tuple[Fault, ...] = ()

    def package(self, name: str) -> Package | None:
        return next((package for package in self.packages if package.name == name), None)

    def faults_about(self, *names: str) -> tuple[Fault, ...]:
        """What is wrong with these packages, and with files and documents of which no package can be told."""
        return tuple(fault for fault in self.faults if fault.package in (*names, ""))

    @property
    def bundles(self) -> int:
        """How many versions the packages have together."""
        return sum(len(package.bundles) for package in self.packages)
