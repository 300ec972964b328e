"""OLM's file-based catalogs: documents `olm.package`, `olm.channel`, `olm.bundle` and `olm.deprecations`.

Kept true: a package has no fault here exactly when operator-registry takes it (but for a `skipRange` that it
never reads); where it refuses a whole catalog, only what is wrong is left out here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, TypeVar, cast

import msgspec

from shiplift.operators.catalog import chains, file_based_bundles
from shiplift.operators.catalog.documents import field_fault
from shiplift.operators.catalog.file_based_bundles import BundleDocument
from shiplift.operators.catalog.model import Bundle, Channel, Entry, Fault, FaultKind, Package
from shiplift.operators.catalog.names import is_label
from shiplift.operators.catalog.releases import checked

T = TypeVar("T")
Json = dict[str, Any]


class PackageDocument(msgspec.Struct, rename="camel"):
    name: str | None = None
    default_channel: str | None = None


class EntryDocument(msgspec.Struct, rename="camel"):
    name: str | None = None
    replaces: str | None = None
    skips: list[str | None] | None = None
    skip_range: str | None = None

    def entry(self) -> Entry:
        skips = tuple(name or "" for name in self.skips or ())
        return Entry(self.name or "", self.replaces or "", skips, self.skip_range or "")


class ChannelDocument(msgspec.Struct):
    name: str | None = None
    package: str | None = None
    entries: list[EntryDocument] | None = None


class _Reference(msgspec.Struct):
    schema: str = ""
    name: str | None = None


class _Deprecated(msgspec.Struct):
    reference: _Reference
    message: str = ""


class DeprecationDocument(msgspec.Struct):
    package: str | None = None
    entries: list[_Deprecated] | None = None


class _Pieces:
    """The documents of one package."""

    def __init__(self) -> None:
        self.packages: list[PackageDocument] = []
        self.channels: list[ChannelDocument] = []
        self.bundles: list[BundleDocument] = []
        self.deprecations: list[DeprecationDocument] = []


class Documents:
    """The documents of a catalog, package by package, from as many files as there are."""

    def __init__(self) -> None:
        self._pieces: dict[str, _Pieces] = defaultdict(_Pieces)
        self.faults: list[Fault] = []

    def add(self, where: str, document: Any) -> None:
        """Sort one document in; schemas of others are nobody's business here."""
        if not isinstance(document, dict):
            self._refuse("", where, "a document is no object")
            return
        object_ = cast("Json", document)
        schema = object_.get("schema")
        owner = object_.get("name" if schema == "olm.package" else "package")
        package = owner if isinstance(owner, str) else ""
        try:
            self._sort_in(schema, package, object_)
        except msgspec.ValidationError as error:
            self._refuse(package, where, f"{schema} {object_.get('name') or ''}: {field_fault(error)}")
        except ValueError as error:
            self._refuse(package, where, str(error))

    def _sort_in(self, schema: Any, package: str, document: Json) -> None:
        match schema:
            case "olm.package":
                self._of(package).packages.append(msgspec.convert(document, PackageDocument))
            case "olm.channel":
                self._of(package).channels.append(msgspec.convert(document, ChannelDocument))
            case "olm.bundle":
                self._of(package).bundles.append(msgspec.convert(document, BundleDocument))
            case "olm.deprecations":
                self._of(package).deprecations.append(msgspec.convert(document, DeprecationDocument))
            case str() if schema:
                pass
            case _:
                raise ValueError("a document has no schema")

    def _of(self, package: str) -> _Pieces:
        if not package:
            raise ValueError("a document names no package")
        return self._pieces[package]

    def _refuse(self, package: str, where: str, message: str) -> None:
        self.faults.append(Fault(package, FaultKind.DOCUMENT, f"{where}: {message}"))

    def built(self) -> tuple[list[Package], list[Fault], dict[str, bytes]]:
        """All packages that can be used, everything that is wrong, and the packed manifests of bundles."""
        packages, faults, payloads = list[Package](), list(self.faults), dict[str, bytes]()
        for name, pieces in sorted(self._pieces.items()):
            builder = _Builder(name, pieces)
            package = builder.package()
            faults += builder.faults
            if package:
                packages.append(package)
                payloads |= builder.payloads
        return packages, faults, payloads


class _Builder:
    """One package out of its documents."""

    def __init__(self, name: str, pieces: _Pieces) -> None:
        self.name, self._pieces = name, pieces
        self.faults: list[Fault] = []
        self.payloads: dict[str, bytes] = {}

    def package(self) -> Package | None:
        if not self._introduced():
            return None
        bundles = self._bundles()
        channels = self._channels(bundles)
        self._compare_versions(bundles)
        if not channels:
            self._fault(FaultKind.NO_CHANNEL, "it has no channel that can be followed")
            return None
        used = {entry.name for channel in channels for entry in channel.entries}
        package = Package(
            self.name,
            self._default(channels),
            tuple(channels),
            tuple(bundle for name, bundle in bundles.items() if name in used),
        )
        return self._deprecated(package)

    def _introduced(self) -> bool:
        count = len(self._pieces.packages)
        if not count:
            self._fault(FaultKind.PACKAGE_MISSING, "no olm.package document introduces it")
        elif count > 1:
            self._fault(FaultKind.PACKAGE_TWICE, f"{count} olm.package documents introduce it")
        elif not is_label(self.name):
            self._fault(FaultKind.PACKAGE_NAME, f"{self.name[:80]!r} is no name of a package")
        else:
            return True
        return False

    def _default(self, channels: Iterable[Channel]) -> str:
        wanted = self._pieces.packages[0].default_channel or ""
        if wanted in {channel.name for channel in channels}:
            return wanted
        known = {channel.name for channel in self._pieces.channels}
        why = "cannot be followed" if wanted in known else "is not there"
        self._fault(
            FaultKind.DEFAULT_CHANNEL, f"default channel {wanted[:80]!r} {why}" if wanted else _NO_DEFAULT
        )
        return ""

    def _bundles(self) -> dict[str, Bundle]:
        found: dict[str, Bundle] = {}
        for document in _single(self._pieces.bundles, self._twice):
            bundle, faults, packed = file_based_bundles.bundle(self.name, document)
            self.faults += faults
            if bundle:
                found[bundle.name] = bundle
                self.payloads |= packed
        listed = {entry.name for channel in self._pieces.channels for entry in channel.entries or ()}
        for name in [name for name in found if name not in listed]:
            self._fault(FaultKind.BUNDLE_WITHOUT_CHANNEL, f"{name} is in no channel")
        return found

    def _twice(self, name: str) -> None:
        self._fault(FaultKind.BUNDLE_TWICE, f"several bundles are called {name}; none of them is taken")

    def _channels(self, bundles: dict[str, Bundle]) -> list[Channel]:
        single = _single(self._pieces.channels, self._channel_twice)
        built = [self._channel(document, bundles) for document in single]
        return sorted((one for one in built if one), key=lambda channel: channel.name)

    def _channel_twice(self, name: str) -> None:
        self._fault(FaultKind.CHANNEL_TWICE, f"several channels are called {name}; none of them is taken")

    def _channel(self, document: ChannelDocument, bundles: dict[str, Bundle]) -> Channel | None:
        name = document.name or ""
        entries = [one.entry() for one in document.entries or ()]
        twice = [entry for entry, count in Counter(entry.name for entry in entries).items() if count > 1]
        if not name:
            self._fault(FaultKind.CHANNEL_NAME, "a channel has no name")
        elif not entries:
            self._fault(FaultKind.CHANNEL_EMPTY, f"channel {name} has no entries")
        elif twice:
            self._fault(FaultKind.ENTRY_TWICE, f"channel {name} has {chains.listed(twice)} more than once")
        else:
            return self._chained(Channel(name, tuple(self._entries(name, entries, bundles))))
        return None

    def _entries(self, channel: str, entries: list[Entry], bundles: dict[str, Bundle]) -> Iterable[Entry]:
        for given in entries:
            if given.name not in bundles:
                message = f"channel {channel}: there is no bundle {given.name[:120]!r}"
                self._fault(FaultKind.ENTRY_WITHOUT_BUNDLE, message)
                continue
            entry, faults = checked(self.name, given)
            self.faults += faults
            yield entry

    def _chained(self, channel: Channel) -> Channel | None:
        findings = list(chains.findings(channel)) if channel.entries else []
        for kind, message in findings:
            self._fault(kind, message)
        unusable = not channel.entries or any(kind in chains.UNUSABLE for kind, _ in findings)
        return None if unusable else channel

    def _compare_versions(self, bundles: dict[str, Bundle]) -> None:
        by_version: dict[str, list[str]] = defaultdict(list)
        for bundle in bundles.values():
            by_version[bundle.version].append(bundle.name)
        for version, names in by_version.items():
            if len(names) > 1:
                self._fault(
                    FaultKind.VERSION_TWICE, f"{chains.listed(sorted(names))} are all version {version}"
                )

    def _deprecated(self, package: Package) -> Package:
        if len(self._pieces.deprecations) > 1:
            self._fault(
                FaultKind.DEPRECATION, "several documents say what is deprecated; none of them is read"
            )
            return package
        said = {
            (one.reference.schema, one.reference.name or ""): one.message
            for document in self._pieces.deprecations
            for one in document.entries or ()
        }
        return _marked(package, said) if said else package

    def _fault(self, kind: FaultKind, message: str) -> None:
        self.faults.append(Fault(self.name, kind, message))


_NO_DEFAULT = "it has no default channel"


def _marked(package: Package, said: dict[tuple[str, str], str]) -> Package:
    replace = msgspec.structs.replace
    return replace(
        package,
        deprecated=said.get(("olm.package", ""), ""),
        channels=tuple(
            replace(one, deprecated=said.get(("olm.channel", one.name), "")) for one in package.channels
        ),
        bundles=tuple(
            replace(one, deprecated=said.get(("olm.bundle", one.name), "")) for one in package.bundles
        ),
    )


def _single(documents: list[T], twice: Any) -> list[T]:
    """Those whose name no other has; the others are told by name."""
    counts = Counter(cast("Any", document).name for document in documents)
    for name, count in counts.items():
        if count > 1:
            twice(name)
    return [document for document in documents if counts[cast("Any", document).name] == 1]
