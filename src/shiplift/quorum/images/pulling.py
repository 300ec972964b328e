"""An image's program with the two files beside it, pulled once and kept by the image's digest.

The cache is content-addressed and holds nothing that has to be believed: who takes a program out of it
checks it again. A folder of it is complete or is not there, so whoever was killed in the middle leaves
nothing that could be taken for a whole one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path, PurePosixPath

import msgspec

from shiplift.quorum.images import documents, layers
from shiplift.quorum.images.errors import BadImage
from shiplift.quorum.images.registry import Image, Registry

_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_FOLDERS = 16
CHECKSUM, SIGNATURE = ".sha256sum", ".minisig"
_PULLING = "pulling-"


class Pulled(msgspec.Struct, frozen=True):
    """A program as the image has it; nothing of it is checked yet."""

    program: Path
    checksum: Path
    signature: Path


def program_of(image: Image, registry: Registry, name: str, cache: Path, deadline: float) -> Pulled:
    """Out of the cache, else pulled, by then (of `time.monotonic`); `ImageError` where it cannot be had."""
    folder = cache / image.manifest_digest.replace(":", "-") / name
    pulled = Pulled(folder / "program", folder / "checksum", folder / "signature")
    if not folder.is_dir():
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=_PULLING) as temporary:
            _place(_pull(image, registry, name, Path(temporary), deadline), folder)
    documents.keep(folder.parent, registry.seen)
    return pulled


def forget_all_but(cache: Path, digests: frozenset[str], age: float = 0.0) -> None:
    """What no service wants any more, and what killed pulls left, where it is so many seconds old; only while
    nothing is being pulled."""
    kept = {digest.replace(":", "-") for digest in digests}
    for folder in cache.iterdir() if cache.is_dir() else ():
        if folder.name not in kept and time.time() - folder.stat().st_mtime >= age:
            shutil.rmtree(folder, ignore_errors=True)


def discard(image: Image, cache: Path) -> None:
    """What did not pass its check is pulled anew the next time: it may have been damaged here."""
    shutil.rmtree(cache / image.manifest_digest.replace(":", "-"), ignore_errors=True)


def _pull(image: Image, registry: Registry, name: str, temporary: Path, deadline: float) -> Path:
    packed: list[Path] = []
    for number, part in enumerate(image.layers):
        target = temporary / f"layer-{number}"
        registry.blob(part, target)
        packed.append(target)
    folders = _folders(image)
    wanted = {f"{folder}/{name}{end}" for folder in folders for end in ("", CHECKSUM, SIGNATURE)}
    unpacked = temporary / "unpacked"
    unpacked.mkdir()
    found = layers.extract(packed, wanted, unpacked, deadline)
    return _gathered(found, _first(found, folders, name), temporary / "whole")


def _folders(image: Image) -> list[str]:
    """Where a container of the image looks for programs, in that order."""
    path = image.config.path or _USUAL_PATH
    named = [str(PurePosixPath(one)).lstrip("/") for one in path.split(":") if one.startswith("/")]
    return list(dict.fromkeys(named))[:_MOST_FOLDERS]


def _first(found: dict[str, layers.Found], folders: list[str], name: str) -> str:
    """The one that a container would start."""
    places = [f"{folder}/{name}" for folder in folders]
    first = next((place for place in places if place in found), None)
    if first is None:
        raise BadImage(f"the image has no {name} in {', '.join(f'/{folder}' for folder in folders)}")
    for end in (CHECKSUM, SIGNATURE):
        if first + end not in found:
            raise BadImage(f"the image has no /{first}{end}: its program cannot be checked")
    return first


def _gathered(found: dict[str, layers.Found], first: str, whole: Path) -> Path:
    whole.mkdir()
    for end, own_name in (("", "program"), (CHECKSUM, "checksum"), (SIGNATURE, "signature")):
        # a copy where two names are one file: each is moved once
        shutil.copyfile(found[first + end].path, whole / own_name)
    (whole / "program").chmod(0o755)
    return whole


def _place(whole: Path, folder: Path) -> None:
    """Under its name at last; whoever was faster has placed the same."""
    for file in whole.iterdir():
        with file.open("rb") as content:
            os.fsync(content.fileno())
    with contextlib.suppress(FileExistsError):
        try:
            whole.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
