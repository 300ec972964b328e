"""TLS as kubectl does it: a given authority or the system's, a client certificate, no way around."""

from __future__ import annotations

import os
import ssl
import tempfile

import msgspec

from shiplift.kube.errors import CredentialsError


class Pair(msgspec.Struct, frozen=True):
    """A client certificate with its key, as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "<Pair>"


def context(authority: bytes, pair: Pair | None, *, verify: bool = True) -> ssl.SSLContext:
    """A context that trusts this authority (the system's, if empty) and shows this certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.hostname_checks_common_name = False
    # Any certificate in the file is an anchor, as it is for kubectl.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.set_alpn_protocols(["http/1.1"])
    if not verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif authority:
        _trust(made, authority)
    else:
        made.load_default_certs()
    if pair is not None:
        _show(made, pair)
    return made


def _trust(made: ssl.SSLContext, authority: bytes) -> None:
    try:
        made.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise CredentialsError("the certificate authority holds no PEM certificates") from None


def _show(made: ssl.SSLContext, pair: Pair) -> None:
    # OpenSSL reads a key from a file only; this one is ours alone, and gone at once.
    handle, path = tempfile.mkstemp(prefix="shiplift-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pair.key + b"\n" + pair.certificate + b"\n")
        made.load_cert_chain(path, password=_no_password)
    except _EncryptedKeyError:
        raise CredentialsError("the client key is encrypted", hint="decrypt it with openssl pkey") from None
    except (ssl.SSLError, ValueError):
        raise CredentialsError("the client certificate and key are no PEM pair that fits together") from None
    finally:
        os.unlink(path)


class _EncryptedKeyError(Exception):
    """OpenSSL asked for a password; without this it would ask the terminal."""


def _no_password() -> str:
    raise _EncryptedKeyError
