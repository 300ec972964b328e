"""Cosign's simple signing: whether a key pair's owner signed this very image.

A signature stands beside the image under a tag made of its digest. It counts when the signature over its
payload is the trusted key's, and the payload names the image's digest. One that counts is enough.
"""

from __future__ import annotations

import base64
import binascii

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from shiplift.quorum.images.errors import BadImage, NotAllowed
from shiplift.quorum.images.registry import Part, Registry

ANNOTATION = "dev.cosignproject.cosign/signature"
TYPE = "cosign container image signature"
_MOST_SIGNATURES = 32
_MOST_PAYLOAD = 64 << 10


class _Image(msgspec.Struct, rename={"digest": "docker-manifest-digest"}):
    digest: str


class _Critical(msgspec.Struct):
    image: _Image
    type: str


class _Payload(msgspec.Struct):
    critical: _Critical


def verify(registry: Registry, digest: str, key: str) -> None:
    """`BadImage` unless the image of that digest is signed with the key (PEM)."""
    trusted = _public_key(key)
    parts = registry.parts(f"{digest.replace(':', '-')}.sig")[:_MOST_SIGNATURES]
    if not parts:
        raise BadImage(f"the image {digest} has no cosign signature in its registry")
    if not any(_signs(registry, part, digest, trusted) for part in parts):
        raise BadImage(f"no cosign signature of the image {digest} was made with the key that is trusted")


def _signs(registry: Registry, part: Part, digest: str, key: EllipticCurvePublicKey) -> bool:
    try:
        signature = base64.b64decode((part.annotations or {}).get(ANNOTATION, ""), validate=True)
        payload = registry.text(part, _MOST_PAYLOAD)
        key.verify(signature, payload, ECDSA(SHA256()))
        said = msgspec.json.decode(payload, type=_Payload).critical
    except (binascii.Error, ValueError, InvalidSignature, NotAllowed):
        return False
    return said.type == TYPE and said.image.digest == digest


def _public_key(text: str) -> EllipticCurvePublicKey:
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise NotAllowed("trust.cosignKey is no public key in PEM") from None
    if not isinstance(key, EllipticCurvePublicKey):
        raise NotAllowed("trust.cosignKey is no elliptic-curve key, which cosign makes")
    return key
