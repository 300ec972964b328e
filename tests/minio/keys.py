"""A minisign key of our own, and what is signed with it."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Key:
    """Signs files as the minisign program does."""

    def __init__(self, key_id: bytes | None = None) -> None:
        self.id = os.urandom(8) if key_id is None else key_id
        self._private = Ed25519PrivateKey.generate()

    @property
    def public(self) -> str:
        return _text(b"Ed" + self.id + self._private.public_key().public_bytes_raw())

    def sign(self, path: Path, comment: str = "file:minio") -> bytes:
        """The content of the `.minisig` file, over the file's hash."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "blake2b").digest()
        return self._signed(b"ED", self._private.sign(digest), comment)

    def sign_whole(self, path: Path, comment: str = "file:minio") -> bytes:
        """As old tools did: over the file itself."""
        return self._signed(b"Ed", self._private.sign(path.read_bytes()), comment)

    def _signed(self, algorithm: bytes, signature: bytes, comment: str) -> bytes:
        over_comment = self._private.sign(signature + comment.encode())
        lines = (
            "untrusted comment: signature of a test",
            _text(algorithm + self.id + signature),
            f"trusted comment: {comment}",
            _text(over_comment),
        )
        return "".join(f"{line}\n" for line in lines).encode()


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
