"""Our own form of a catalog: an index that is read at once, apart from the manifests of its bundles.

One JSON document a line, packed: a head, and then a package each. The same catalog gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable

import msgspec

from shiplift.operators.catalog.documents import UnreadableError
from shiplift.operators.catalog.model import Catalog, Fault, Package
from shiplift.operators.catalog.payload import gunzip

FORMAT = "shiplift.dev/catalog-index/v1"
MAGIC = b"\x1f\x8b"
"""How what gzip packed begins."""
_MOST = 512 << 20


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line: what this is, and what was left out when it was made."""

    format: str
    packages: int
    faults: tuple[Fault, ...] = ()


def encode(catalog: Catalog) -> bytes:
    head = Head(FORMAT, len(catalog.packages), catalog.faults)
    return gzip.compress(msgspec.json.Encoder().encode_lines([head, *catalog.packages]), mtime=0)


def decode(data: bytes) -> Catalog:
    """The catalog; an `UnreadableError` says why it is none of ours, or not whole."""
    text = gunzip(data, _MOST)
    first, _, rest = text.partition(b"\n")
    try:
        head = msgspec.json.decode(first, type=Head)
    except msgspec.DecodeError as error:
        raise UnreadableError("it is no index of a catalog") from error
    if head.format != FORMAT:
        raise UnreadableError(f"it is of format {head.format[:60]!r}, not {FORMAT!r}")
    try:
        packages: list[Package] = _PACKAGES.decode_lines(rest)
    except msgspec.DecodeError as error:
        raise UnreadableError(f"its packages cannot be read: {error}") from error
    if len(packages) != head.packages:
        raise UnreadableError(f"it has {len(packages)} packages, and should have {head.packages}")
    return Catalog(tuple(packages), head.faults)


_PACKAGES = msgspec.json.Decoder(Package)


def digest(data: Iterable[bytes]) -> str:
    """Of an index in as many pieces as there are."""
    sum_ = hashlib.sha256()
    for piece in data:
        sum_.update(piece)
    return f"sha256:{sum_.hexdigest()}"
