"""Signs images as cosign does."""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from shiplift.quorum.images import cosign
from tests.quorum.images_made import Made, signed


class Signer:
    """As cosign signs: over a payload that names the digest."""

    def __init__(self) -> None:
        self._key: EllipticCurvePrivateKey = ec.generate_private_key(ec.SECP256R1())

    @property
    def public(self) -> str:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()

    def sign(self, digest: str, kind: str = cosign.TYPE) -> Made:
        named = {
            "image": {"docker-manifest-digest": digest},
            "type": kind,
            "identity": {"docker-reference": ""},
        }
        payload = json.dumps({"critical": named, "optional": None}).encode()
        signature = base64.b64encode(self._key.sign(payload, ECDSA(SHA256()))).decode()
        return signed(payload, {cosign.ANNOTATION: signature})
