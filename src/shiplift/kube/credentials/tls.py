"""TLS as kubectl does it: a given authority or the system's, a client certificate, no way around."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache

import msgspec

from shiplift.kube.errors import CredentialsError

_HANDLES = "/proc/self/fd"


class Pair(msgspec.Struct, frozen=True):
    """A certificate with its key, as PEM."""

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
        _show(made, pair, "client")
    return made


def of_server(pair: Pair) -> ssl.SSLContext:
    """A context to answer with, which shows this certificate and asks nobody for one."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    _show(made, pair, "server")
    return made


@lru_cache(8)
def of_proxy(authority: bytes, *, verify: bool) -> ssl.SSLContext:
    """A context for a proxy: the system's authorities, and the cluster's, may vouch for it. What goes through
    the proxy is protected by the API server's own certificate whatever the proxy's is."""
    made = context(b"", None, verify=verify)
    if verify and authority:
        _trust(made, authority)
    return made


def _trust(made: ssl.SSLContext, authority: bytes) -> None:
    try:
        made.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise CredentialsError("the certificate authority holds no PEM certificates") from None


def _show(made: ssl.SSLContext, pair: Pair, whose: str) -> None:
    try:
        with _as_file(pair.key + b"\n" + pair.certificate + b"\n") as path:
            made.load_cert_chain(path, password=_no_password)
    except _EncryptedKeyError:
        raise CredentialsError(f"the {whose} key is encrypted", hint="decrypt it with openssl pkey") from None
    except (ssl.SSLError, ValueError):
        raise CredentialsError(
            f"the {whose} certificate and key are no PEM pair that fits together"
        ) from None


@contextmanager
def _as_file(secret: bytes) -> Generator[str]:
    """OpenSSL reads a key from a file only: this one is in memory and has no name that others could open.
    Where the system has no such files (it is not Linux) it is a file of ours alone, and gone at once."""
    if not hasattr(os, "memfd_create") or not os.path.isdir(_HANDLES):
        with tempfile.NamedTemporaryFile(prefix="shiplift-") as file:
            file.write(secret)
            file.flush()
            yield file.name
        return
    with os.fdopen(os.memfd_create("shiplift", os.MFD_CLOEXEC), "wb", buffering=0) as file:
        file.write(secret)
        yield f"{_HANDLES}/{file.fileno()}"


class _EncryptedKeyError(Exception):
    """OpenSSL asked for a password; without this it would ask the terminal."""


def _no_password() -> str:
    raise _EncryptedKeyError
