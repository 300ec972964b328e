"""Where a catalog comes from: an index of ours, folders of OLM bundles, or a file-based catalog.

Kept true: a file that cannot be read costs itself; links are not followed; nothing larger than anybody means
is read.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from shiplift.operators.catalog import bundle_folders, index, payload
from shiplift.operators.catalog.bundle_folders import BundleFolder, PackageFolder
from shiplift.operators.catalog.documents import MOST_JSON, UnreadableError, documents
from shiplift.operators.catalog.file_based import Documents
from shiplift.operators.catalog.model import Catalog, Fault, FaultKind
from shiplift.operators.catalog.payload import Json, Payloads

INDEX = "index.json.gz"
PAYLOADS = "bundles"
_WRITTEN_AS = (".yaml", ".yml", ".json")
_MOST_FILES = 200_000
_MOST_MANIFEST = 8 << 20
"""Bytes of one file of a bundle; an object in a cluster has a fifth of that at most."""


class Imported(msgspec.Struct, frozen=True):
    """A catalog, and the packed manifests of its bundles, by digest, where the source has them."""

    catalog: Catalog
    payloads: Payloads


class SourceError(ValueError):
    """Nothing can be read there."""


def load(path: Path) -> Imported:
    """Whatever is there, told by what it looks like."""
    if not path.exists():
        raise SourceError(f"{path} is not there")
    if path.is_file():
        return _of_file(path)
    if (path / INDEX).is_file():
        return Imported(_index(path / INDEX), {})
    files = _files(path)
    if any(_in_bundle(file, path) for file in files):
        return _of_bundles(path, files)
    return _of_documents(path, files)


def _of_file(path: Path) -> Imported:
    with path.open("rb") as file:
        packed = file.read(2) == index.MAGIC
    if packed:
        return Imported(_index(path), {})
    if path.suffix.lower() not in _WRITTEN_AS:
        raise SourceError(f"{path} is neither an index, nor YAML or JSON of a catalog")
    return _of_documents(path.parent, [path])


def _index(path: Path) -> Catalog:
    try:
        return index.decode(_bytes(path, MOST_JSON))
    except UnreadableError as error:
        raise SourceError(f"{path}: {error}") from error


def _files(root: Path) -> list[Path]:
    """All files below, in order of name; no links."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        found += [Path(folder, name) for name in sorted(names) if not Path(folder, name).is_symlink()]
        if len(found) > _MOST_FILES:
            raise SourceError(f"{root} has more than {_MOST_FILES:,} files")
    return found


def _bytes(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise UnreadableError(f"it is larger than {most >> 20} MiB")
    return data


def _of_documents(root: Path, files: Iterable[Path]) -> Imported:
    """A file-based catalog, in as many files as there are."""
    pieces, unread, seen = Documents(), list[Fault](), False
    for file in files:
        if file.name == ".indexignore":
            unread.append(Fault("", FaultKind.IGNORE_FILE, f"{file.relative_to(root)} is not followed"))
        if file.suffix.lower() not in _WRITTEN_AS:
            continue
        seen = True
        try:
            for document in documents(_bytes(file, MOST_JSON)):
                pieces.add(str(file.relative_to(root)), document)
        except UnreadableError as error:
            unread.append(Fault("", FaultKind.FILE, f"{file.relative_to(root)}: {error}"))
    if not seen:
        raise SourceError(f"{root} has neither an index, nor bundles, nor YAML or JSON files of a catalog")
    packages, faults, payloads = pieces.built()
    return Imported(Catalog(tuple(packages), tuple(unread + faults)), payloads)


def _in_bundle(file: Path, root: Path) -> bool:
    """Whether it is a manifest of a bundle: `<package>/<version>/manifests/<file>`."""
    return "manifests" in file.relative_to(root).parts[-2:-1]


def _of_bundles(root: Path, files: Iterable[Path]) -> Imported:
    catalog, faults, payloads = list[bundle_folders.Package](), list[Fault](), dict[str, bytes]()
    for folder in _package_folders(root, files, faults):
        package, wrong, packed = bundle_folders.package(folder)
        faults += wrong
        payloads |= packed
        if package:
            catalog.append(package)
    catalog.sort(key=lambda package: package.name)
    return Imported(Catalog(tuple(catalog), tuple(faults)), payloads)


def _package_folders(root: Path, files: Iterable[Path], faults: list[Fault]) -> Iterator[PackageFolder]:
    """The bundles, package by package; a package is the folder above its versions."""
    bundles: dict[Path, dict[str, dict[str, Path]]] = defaultdict(lambda: {"manifests": {}, "metadata": {}})
    for file in files:
        if file.parent.name in ("manifests", "metadata") and file.suffix.lower() in _WRITTEN_AS:
            bundles[file.parent.parent][file.parent.name][file.name] = file
    packages: dict[Path, list[Path]] = defaultdict(list)
    for bundle in bundles:
        packages[bundle.parent if bundle != root else bundle].append(bundle)
    for package in sorted(packages):
        yield _package_folder(root, package, {one: bundles[one] for one in packages[package]}, faults)


def _package_folder(
    root: Path, package: Path, bundles: dict[Path, dict[str, dict[str, Path]]], faults: list[Fault]
) -> PackageFolder:
    name = package.resolve().name
    read: list[BundleFolder] = []
    for bundle, parts in sorted(bundles.items()):
        where = str(bundle.relative_to(root))
        try:
            manifests, metadata = (_read(parts[part]) for part in ("manifests", "metadata"))
        except UnreadableError as error:
            faults.append(Fault(name, FaultKind.FILE, f"{where}: {error}"))
        else:
            read.append(BundleFolder(where, manifests, metadata))
    return PackageFolder(name, tuple(read), _ci(package, name, faults))


def _read(files: dict[str, Path]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, file in files.items():
        try:
            found[name] = _bytes(file, _MOST_MANIFEST)
        except UnreadableError as error:
            raise UnreadableError(f"{name}: {error}") from error
    return found


def _ci(package: Path, name: str, faults: list[Fault]) -> bytes:
    file = package / "ci.yaml"
    if not file.is_file() or file.is_symlink():
        return b""
    try:
        return _bytes(file, _MOST_MANIFEST)
    except UnreadableError as error:
        faults.append(Fault(name, FaultKind.FILE, f"ci.yaml: {error}"))
        return b""


def write(imported: Imported, folder: Path) -> None:
    """The index and the manifests into a folder; the index last, so that what it names is there."""
    payloads = folder / PAYLOADS
    payloads.mkdir(parents=True, exist_ok=True)
    for digest, data in imported.payloads.items():
        _replace(payloads / f"{digest.removeprefix('sha256:')}.json.gz", data)
    _replace(folder / INDEX, index.encode(imported.catalog))


def _replace(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(data)
    unfinished.replace(path)


def gathered(source: Path, imported: Imported) -> Imported:
    """The catalog with the manifests that lie beside its index; versions without theirs become faults."""
    payloads, faults = dict(imported.payloads), list(imported.catalog.faults)
    for package in imported.catalog.packages:
        for bundle in package.bundles:
            if not bundle.payload or bundle.payload in payloads:
                continue
            try:
                payloads[bundle.payload] = payload.checked(bundle.payload, _packed(source, bundle.payload))
            except UnreadableError as error:
                message = f"the manifests of {bundle.name} cannot be had: {error}"
                faults.append(Fault(package.name, FaultKind.BUNDLE_WITHOUT_CONTENT, message))
    return Imported(Catalog(imported.catalog.packages, tuple(dict.fromkeys(faults))), payloads)


def manifests(source: Path, imported: Imported, digest: str) -> list[Json]:
    """The manifests of that digest: as imported, or from the folder of an index."""
    data = imported.payloads.get(digest)
    return payload.unpacked(digest, _packed(source, digest) if data is None else data)


def _packed(source: Path, digest: str) -> bytes:
    """The packed manifests of that digest, from beside an index."""
    if not payload.is_digest(digest):
        raise UnreadableError(f"{digest[:80]!r} is no digest")
    folder = source if source.is_dir() else source.parent
    return _bytes(folder / PAYLOADS / f"{digest.removeprefix('sha256:')}.json.gz", _MOST_MANIFEST)
