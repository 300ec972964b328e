"""Keys of SSH: one that opens every machine of a set, and one for each machine to be known by."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from msgspec import Struct


class KeyPair(Struct, frozen=True):
    """In the files' own words."""

    private: str
    public: str


def new_key() -> KeyPair:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return KeyPair(private.decode(), f"{public.decode()}\n")
