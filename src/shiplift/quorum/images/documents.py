"""Manifests, configs and signatures of what was pulled, kept beside it: who has them needs no registry.

What goes by digest is compared with it when it is taken; a signature proves itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from shiplift.quorum.images.reference import is_digest

_FOLDER = "documents"
_NAME = re.compile(r"sha256:[0-9a-f]{64}|sha256-[0-9a-f]{64}\.sig")


def find(cache: Path, name: str) -> bytes | None:
    """By digest, or a signature by its tag."""
    if not _NAME.fullmatch(name):
        return None
    for path in cache.glob(f"*/{_FOLDER}/{_file(name)}"):
        with contextlib.suppress(OSError):
            content = path.read_bytes()
            if not is_digest(name) or name == f"sha256:{hashlib.sha256(content).hexdigest()}":
                return content
    return None


def keep(folder: Path, documents: Mapping[str, bytes]) -> None:
    """In the folder of what was pulled; each is there whole or not at all."""
    place = folder / _FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    for name, content in documents.items():
        if not _NAME.fullmatch(name):
            continue
        handle, temporary = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(place / _file(name))


def _file(name: str) -> str:
    return name.replace(":", "-")
