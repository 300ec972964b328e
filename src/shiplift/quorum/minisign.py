"""Minisign: whether a file was signed by the one key that is believed.

A signature holds when its key id is that of the key, the file's signature is right, and so is the signature
over it and the trusted comment. Anything else is an error that says which of these it was. Both forms are
known: over the file's BLAKE2b hash (`ED`) and over the file itself (`Ed`, which old tools wrote).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path
from typing import BinaryIO

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST_TEXT = 16 << 10
"""Bytes of a signature file; real ones have less than a kilobyte."""
MOST_UNHASHED = 64 << 20
"""Bytes of a file whose signature is over the file itself, which has to be in memory for that."""
_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "
_HASHED, _WHOLE = b"ED", b"Ed"
_CHUNK = 1 << 20


class SignatureError(Exception):
    """The file is not to be used; the message says why."""


class PublicKey(msgspec.Struct, frozen=True):
    """Whose signatures are believed."""

    id: bytes
    key: bytes

    @classmethod
    def read(cls, text: str) -> PublicKey:
        """From its one line of base64 (`RW…`)."""
        raw = _decoded(text.strip(), "the minisign key")
        if len(raw) != 42 or raw[:2] != _WHOLE:
            raise SignatureError("the minisign key is not one: a line of 56 characters that begins with RW")
        return cls(raw[2:10], raw[10:])

    def verify(self, signature: bytes, content: bytes, what: str) -> None:
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, content)
        except InvalidSignature:
            raise SignatureError(f"{what} was not made with the minisign key that is trusted") from None


class Signature(msgspec.Struct, frozen=True):
    """What a `.minisig` file says."""

    algorithm: bytes
    key_id: bytes
    signature: bytes
    comment: str
    over_comment: bytes

    @classmethod
    def read(cls, text: bytes) -> Signature:
        lines = _lines(text)
        first = _decoded(lines[1], "the second line of the minisign signature")
        over_comment = _decoded(lines[3], "the fourth line of the minisign signature")
        if len(first) != 74 or len(over_comment) != 64 or first[:2] not in (_HASHED, _WHOLE):
            raise SignatureError("the minisign signature has parts of the wrong kind or size")
        return cls(first[:2], first[2:10], first[10:], lines[2].removeprefix(_TRUSTED), over_comment)


def verify(path: Path, signature_text: bytes, key: PublicKey) -> Signature:
    """Whether the file is signed by the key; what was signed with it, or `SignatureError`."""
    found = Signature.read(signature_text)
    if found.key_id != key.id:
        raise SignatureError(
            f"signed with the minisign key {_shown(found.key_id)}, and {_shown(key.id)} is trusted"
        )
    with path.open("rb") as file:
        key.verify(found.signature, _signed(file, found.algorithm), "the signature of the file")
    key.verify(found.over_comment, found.signature + found.comment.encode(), "the signature of the comment")
    return found


def _signed(file: BinaryIO, algorithm: bytes) -> bytes:
    if algorithm == _HASHED:
        digest = hashlib.blake2b()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        return digest.digest()
    content = file.read(MOST_UNHASHED + 1)
    if len(content) > MOST_UNHASHED:
        raise SignatureError("the file is too large for a signature that is not over its hash")
    return content


def _lines(text: bytes) -> list[str]:
    if len(text) > MOST_TEXT:
        raise SignatureError(f"the minisign signature has more than {MOST_TEXT} bytes")
    try:
        # not splitlines: a comment may hold what Python takes for a line's end, and it is signed as it is
        lines = [line.removesuffix("\r") for line in text.decode().rstrip("\r\n").split("\n")]
    except UnicodeDecodeError:
        raise SignatureError("the minisign signature is not text") from None
    if len(lines) != 4 or not lines[0].startswith(_UNTRUSTED) or not lines[2].startswith(_TRUSTED):
        raise SignatureError("the minisign signature does not have the four lines of one")
    return lines


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SignatureError(f"{what} is not base64") from None


def _shown(key_id: bytes) -> str:
    """As the minisign program writes it."""
    return key_id[::-1].hex().upper()
