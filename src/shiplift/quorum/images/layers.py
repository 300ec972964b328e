"""Files out of an image's layers, without unpacking the image.

Layers are read in order, each once, as a stream. Only files that were asked for are written, under names of
our own choosing, so nothing in an image can name a place outside. A layer's whiteouts hide what the layers
below it have, as does anything but a folder in a folder's place. What is asked for has to be a plain file:
devices, sparse files and links out of the image are refused. How much may come out of all layers, and of a
header, is bounded, whatever its size when compressed, and so is the time that it takes.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zlib
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec

from shiplift.quorum.images.errors import BadImage, NotAllowed, RegistryAway

MOST_UNPACKED = 6 << 30
"""Bytes of all layers."""
MOST_FILE = 1 << 30
MOST_ENTRIES = 500_000
_MOST_AT_ONCE = 1 << 20
"""Bytes of one read: a header that wants more is no header."""
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Found(msgspec.Struct, frozen=True):
    """A file that was asked for, and where it was put."""

    path: Path
    size: int


class _Layer(msgspec.Struct):
    """What one layer does to what was asked for."""

    files: dict[str, Found]
    hidden: set[str]
    """Of the layers below."""


class _Bound:
    """What may still come out of an image, and until when."""

    def __init__(self, deadline: float) -> None:
        self._deadline, self._left = deadline, MOST_UNPACKED

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise NotAllowed(f"the image unpacks to more than {MOST_UNPACKED >> 20} MiB")
        if time.monotonic() > self._deadline:
            raise RegistryAway("the image could not be unpacked in time")


def extract(
    layers: Iterable[Path], wanted: Collection[str], folder: Path, deadline: float
) -> dict[str, Found]:
    """The wanted files (`usr/bin/minio`) as the image has them; those that it has not are left out."""
    found: dict[str, Found] = {}
    bound = _Bound(deadline)
    for number, layer in enumerate(layers):
        with _reading(layer, bound) as archive:
            changes = _changes(archive, frozenset(wanted), folder, number)
        found = {name: file for name, file in found.items() if name not in changes.hidden} | changes.files
    return found


def _changes(archive: tarfile.TarFile, wanted: frozenset[str], folder: Path, number: int) -> _Layer:
    layer = _Layer({}, set())
    for count, entry in enumerate(archive):
        if count >= MOST_ENTRIES:
            raise NotAllowed(f"a layer of the image has more than {MOST_ENTRIES} entries")
        name = _name(entry.name)
        layer.hidden |= _hides(entry, name, wanted)
        if name in wanted and not entry.isdir():
            layer.files[name] = _taken(archive, entry, name, folder, f"{number}-{count}", layer.files)
    return layer


def _name(said: str) -> str:
    """Within the image, without a leading slash or `./`; an entry that climbs out is no part of an image."""
    path = PurePosixPath("/", said)
    if ".." in path.parts or "\0" in said:
        raise BadImage(f"the image has an entry {said[:200]!r}, which leads out of it")
    return str(path).lstrip("/")


def _hides(entry: tarfile.TarInfo, name: str, wanted: frozenset[str]) -> set[str]:
    folder, _, last = name.rpartition("/")
    if last == _OPAQUE:
        return _below(folder, wanted)
    if last.startswith(_WHITEOUT):
        target = f"{folder}/{last.removeprefix(_WHITEOUT)}".lstrip("/")
        return _below(target, wanted) | ({target} & wanted)
    below: set[str] = set() if entry.isdir() else _below(name, wanted)
    return below | ({name} & wanted)


def _below(folder: str, wanted: frozenset[str]) -> set[str]:
    return {name for name in wanted if not folder or name.startswith(f"{folder}/")}


def _taken(
    archive: tarfile.TarFile,
    entry: tarfile.TarInfo,
    name: str,
    folder: Path,
    own_name: str,
    before: dict[str, Found],
) -> Found:
    if entry.islnk():
        # a second name of an earlier entry of the same layer; what was not asked for was not kept
        target = _name(entry.linkname)
        if target not in before:
            raise BadImage(f"{name} in the image is a link to {target[:200]}, which is none of the files")
        return before[target]
    if not entry.isreg() or entry.issparse():
        raise BadImage(f"{name} in the image is no plain file")
    if entry.size > MOST_FILE:
        raise NotAllowed(f"{name} in the image has {entry.size >> 20} MiB, more than {MOST_FILE >> 20}")
    return _written(archive, entry, folder / own_name)


def _written(archive: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> Found:
    content = archive.extractfile(entry)
    if content is None:
        raise BadImage(f"{entry.name[:200]} in the image has no content")
    with content, target.open("xb") as file:
        while piece := content.read(_MOST_AT_ONCE):
            file.write(piece)
        if file.tell() != entry.size:
            raise BadImage(f"{entry.name[:200]} in the image ends too early")
    return Found(target, entry.size)


@contextmanager
def _reading(layer: Path, bound: _Bound) -> Generator[tarfile.TarFile]:
    """The archive, and what it does not keep to as errors of ours."""
    with layer.open("rb") as raw:
        try:
            with tarfile.open(fileobj=_Bounded(_unpacked(raw), bound), mode="r:") as archive:
                yield archive
        except (
            tarfile.TarError,
            EOFError,
            zlib.error,
            OSError,
            UnicodeError,
            ValueError,
            OverflowError,
        ) as error:
            raise BadImage(f"a layer of the image cannot be read: {str(error)[:200]}") from None


def _unpacked(raw: io.BufferedReader) -> io.BufferedIOBase:
    start = raw.peek(4)[:4]
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if start == _ZSTD:
        raise NotAllowed("a layer of the image is packed with zstd, which is not read here; gzip is")
    return raw


class _Bounded(io.RawIOBase):
    """Forward only, so much in all, so much at once."""

    def __init__(self, source: io.BufferedIOBase, bound: _Bound) -> None:
        self._source, self._bound, self._at = source, bound, 0

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= _MOST_AT_ONCE:
            raise NotAllowed(f"a layer of the image has a header of {size} bytes")
        piece = self._source.read(size)
        self._at += len(piece)
        self._bound.take(len(piece))
        return piece

    def seek(self, position: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET or position < self._at:
            raise BadImage("a layer of the image leads back to where it was")
        while self._at < position and self.read(min(_MOST_AT_ONCE, position - self._at)):
            pass
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True
