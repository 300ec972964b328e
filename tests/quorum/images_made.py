"""Images made by hand: layers out of entries, and what makes them an image."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """One entry of a layer; a plain file unless told otherwise."""

    name: str
    content: bytes = b""
    kind: bytes = tarfile.REGTYPE
    link: str = ""
    mode: int = 0o755


def layer(*entries: Entry) -> bytes:
    """Not packed."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.type, info.linkname, info.mode = entry.kind, entry.link, entry.mode
            info.size = len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content))
    return made.getvalue()


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


def folder(name: str) -> Entry:
    return Entry(name, kind=tarfile.DIRTYPE)


def symlink(name: str, target: str) -> Entry:
    return Entry(name, kind=tarfile.SYMTYPE, link=target)


def hard_link(name: str, target: str) -> Entry:
    return Entry(name, kind=tarfile.LNKTYPE, link=target)


def device(name: str) -> Entry:
    return Entry(name, kind=tarfile.CHRTYPE)


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Made(msgspec.Struct, frozen=True):
    """An image: its blobs by digest, and its manifest."""

    blobs: Mapping[str, bytes]
    manifest: bytes

    @property
    def digest(self) -> str:
        return digest(self.manifest)


MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_PLAIN_LAYER = "application/vnd.oci.image.layer.v1.tar"
_GZIP = b"\x1f\x8b"
_CONFIG = "application/vnd.oci.image.config.v1+json"


def lay_down(made: Made, folder: Path, repository: str, tag: str) -> None:
    """As a registry keeps it on its disk, so that nothing has to be pushed."""
    top = folder / "docker/registry/v2"
    for name, content in {**made.blobs, made.digest: made.manifest}.items():
        place = top / "blobs" / _place(name).parent / name[7:9] / name[7:] / "data"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    about = top / "repositories" / repository
    links = {about / "_layers" / _place(name) / "link": name for name in made.blobs}
    manifests = about / "_manifests"
    links[manifests / "revisions" / _place(made.digest) / "link"] = made.digest
    links[manifests / "tags" / tag / "current/link"] = made.digest
    links[manifests / "tags" / tag / "index" / _place(made.digest) / "link"] = made.digest
    for path, name in links.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def _place(name: str) -> Path:
    return Path(name.replace(":", "/"))


def image(*layers: bytes, labels: Mapping[str, str] | None = None, path: str = "") -> Made:
    """Of packed layers, the lowest first."""
    settings = {"Env": [f"PATH={path}"] if path else [], "Labels": dict(labels or {})}
    # true of layers that are not packed: those can be run
    roots = {"type": "layers", "diff_ids": [digest(one) for one in layers]}
    whole = {"os": "linux", "architecture": "amd64", "config": settings, "rootfs": roots}
    config = json.dumps(whole).encode()
    parts = [_part(one, _LAYER if one.startswith(_GZIP) else _PLAIN_LAYER) for one in layers]
    return _made(config, parts, layers)


def signed(payload: bytes, annotations: Mapping[str, str]) -> Made:
    """As cosign stores a signature: an image whose one layer is the payload."""
    kind = "application/vnd.dev.cosign.simplesigning.v1+json"
    return _made(b"{}", [_part(payload, kind) | {"annotations": dict(annotations)}], (payload,))


def index(*choices: tuple[Made, str]) -> bytes:
    """A list of the same image by architecture."""
    entries = [
        _part(one.manifest, MANIFEST) | {"platform": {"os": "linux", "architecture": architecture}}
        for one, architecture in choices
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()


def _made(config: bytes, parts: list[dict[str, Any]], contents: tuple[bytes, ...]) -> Made:
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": _part(config, _CONFIG), "layers": parts}
    blobs = {digest(content): content for content in (config, *contents)}
    return Made(blobs, json.dumps(manifest).encode())


def _part(content: bytes, kind: str) -> dict[str, Any]:
    return {"mediaType": kind, "digest": digest(content), "size": len(content)}
