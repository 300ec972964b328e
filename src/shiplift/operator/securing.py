"""TLS for metrics and probes: with a certificate that is given and renewed in a folder, or one of our own.

One of our own is made when the process starts and is in its memory alone. Nobody can know it before: it keeps
tokens from who listens in, not from who answers in our place. Where that matters, a folder is given.
"""

from __future__ import annotations

import datetime
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials, tls
from shiplift.kube.credentials.files import RotatingFile
from shiplift.kube.credentials.tls import Pair
from shiplift.kube.errors import CredentialsError
from shiplift.kube.reviews import Reviews
from shiplift.operator.serving import Secured

log = structlog.get_logger(__name__)

CERTIFICATE, KEY = "tls.crt", "tls.key"
"""As in a Secret of type kubernetes.io/tls."""
_LIFETIME = datetime.timedelta(days=3650)
_ASK_SECONDS = 5.0


def secured(credentials: Credentials, folder: Path | None, host: str) -> Secured:
    """With the certificate in that folder, or without one with our own for that host."""
    reviews = Reviews(Client(credentials, timeout=_ASK_SECONDS))
    if folder is None:
        own = tls.of_server(self_signed(host))
        return Secured(lambda: own, reviews.verdict, reviews.close)
    return Secured(Renewed(folder).context, reviews.verdict, reviews.close)


def self_signed(host: str) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shiplift")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return Pair(
        certificate.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )


class Renewed:
    """The certificate of a folder as it is now; the last one that could be used while it cannot."""

    def __init__(self, folder: Path) -> None:
        certificate = RotatingFile(folder / CERTIFICATE, "certificate of the metrics server")
        key = RotatingFile(folder / KEY, "key of the metrics server")
        self._read: Callable[[], Pair] = lambda: Pair(certificate.read(), key.read())
        self._lock = threading.Lock()
        self._pair = self._read()
        self._context = tls.of_server(self._pair)

    def context(self) -> ssl.SSLContext:
        with self._lock:
            pair = self._read()
            if pair != self._pair:
                self._renew(pair)
            return self._context

    def _renew(self, pair: Pair) -> None:
        try:
            self._context, self._pair = tls.of_server(pair), pair
        except CredentialsError as error:
            # half of a renewal: the certificate is new, the key is not yet
            log.warning("renewed certificate not usable yet, using the last one", reason=str(error))
