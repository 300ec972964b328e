"""The manifests of a bundle as they are kept beside the index: one JSON list, packed, named by its digest."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shiplift.operators.catalog.documents import UnreadableError

Json = dict[str, Any]
Payloads = Mapping[str, bytes]
"""Packed manifests, by digest."""
MOST = 64 << 20
"""Bytes of one payload, unpacked."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


def packed(manifests: Iterable[Json]) -> tuple[str, bytes]:
    """Digest and packed bytes; the same manifests give the same."""
    text = msgspec.json.encode(list(manifests), order="deterministic")
    return f"sha256:{hashlib.sha256(text).hexdigest()}", gzip.compress(text, mtime=0)


def unpacked(digest: str, data: bytes) -> list[Json]:
    """The manifests; refused where they are not those that the digest names."""
    return msgspec.json.decode(_text(digest, data), type=list[Json])


def checked(digest: str, data: bytes) -> bytes:
    """The packed bytes as they are; refused where they are not those that the digest names."""
    _ = _text(digest, data)
    return data


def is_digest(text: str) -> bool:
    """Whether it names manifests, and so can be the name of a file."""
    return bool(_DIGEST.fullmatch(text))


def _text(digest: str, data: bytes) -> bytes:
    text = gunzip(data, MOST)
    if f"sha256:{hashlib.sha256(text).hexdigest()}" != digest:
        raise UnreadableError(f"it is not what {digest} names")
    return text


def gunzip(data: bytes, most: int) -> bytes:
    """Unpacked, up to that many bytes: a small file must not become a huge one."""
    try:
        with gzip.open(io.BytesIO(data)) as file:
            text = file.read(most + 1)
    except (OSError, EOFError, ValueError) as error:
        raise UnreadableError(f"it is no gzip: {error}") from error
    if len(text) > most:
        raise UnreadableError(f"unpacked it is larger than {most >> 20} MiB")
    return text


def apis(manifests: Iterable[Json]) -> tuple[str, ...]:
    """The kinds of the manifests, as `apps/v1 Deployment`; a ClusterServiceVersion is none of them."""
    found = {f"{one.get('apiVersion')} {one.get('kind')}" for one in manifests if one.get("kind") != _CSV}
    return tuple(sorted(found))


_CSV = "ClusterServiceVersion"


def is_csv(manifest: Json) -> bool:
    return manifest.get("kind") == _CSV
