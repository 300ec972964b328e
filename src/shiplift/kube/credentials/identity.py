"""Who we are to the API server, and whom we act as: the headers and the certificate of each request."""

from __future__ import annotations

import base64
from urllib.parse import quote

import msgspec

from shiplift.kube.credentials.files import Source
from shiplift.kube.credentials.plugin import Plugin
from shiplift.kube.credentials.tls import Pair
from shiplift.kube.errors import CredentialsError

_NAME_CHARACTERS = "!#$&'*+-.^_`|~"  # what a header name may hold besides letters and digits


class Impersonation(msgspec.Struct, frozen=True):
    """Act as somebody else, where RBAC allows it."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def headers(self) -> list[tuple[str, str]]:
        pairs = [("Impersonate-User", self.user)]
        if self.uid:
            pairs.append(("Impersonate-Uid", self.uid))
        pairs += [("Impersonate-Group", group) for group in self.groups]
        for key, values in self.extra:
            name = f"Impersonate-Extra-{quote(key, safe=_NAME_CHARACTERS)}"
            pairs += [(name, value) for value in values]
        return pairs


class Anonymous:
    """Nobody: the server decides what that may do."""

    def authorization(self) -> str:
        return ""

    def pair(self) -> Pair | None:
        return None

    def forget(self, authorization: str = "") -> None:
        """There is nothing to read again."""


class Basic(Anonymous):
    """A user name and a password."""

    def __init__(self, username: str, password: str) -> None:
        self._login = base64.b64encode(f"{username}:{password}".encode()).decode()

    def authorization(self) -> str:
        return f"Basic {self._login}"


class Token(Anonymous):
    """A bearer token, in the kubeconfig or in a file that is rotated."""

    def __init__(self, source: Source, where: str) -> None:
        self._source = source
        self._where = where

    def authorization(self) -> str:
        return bearer(self._source.read(), self._where)

    def forget(self, authorization: str = "") -> None:
        self._source.forget()


class Certificate(Anonymous):
    """A client certificate and its key."""

    def __init__(self, certificate: Source, key: Source) -> None:
        self._certificate = certificate
        self._key = key

    def pair(self) -> Pair | None:
        return Pair(self._certificate.read(), self._key.read())

    def forget(self, authorization: str = "") -> None:
        self._certificate.forget()
        self._key.forget()


class Both(Anonymous):
    """A client certificate for the connection, and a token or password for each request."""

    def __init__(self, certificate: Certificate, speaker: Anonymous) -> None:
        self._certificate = certificate
        self._speaker = speaker

    def authorization(self) -> str:
        return self._speaker.authorization()

    def pair(self) -> Pair | None:
        return self._certificate.pair()

    def forget(self, authorization: str = "") -> None:
        self._certificate.forget()
        self._speaker.forget(authorization)


class FromPlugin(Anonymous):
    """Whatever an exec plugin hands out."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    def authorization(self) -> str:
        token = self._plugin.issued().token
        return bearer(token.encode(), repr(self._plugin)) if token else ""

    def pair(self) -> Pair | None:
        issued = self._plugin.issued()
        if not issued.client_certificate_data:
            return None
        return Pair(issued.client_certificate_data.encode(), issued.client_key_data.encode())

    def forget(self, authorization: str = "") -> None:
        self._plugin.forget(authorization.removeprefix("Bearer "))


def bearer(token: bytes, where: str) -> str:
    """The header value, refused here if it could break out of the header: HTTP libraries would print it."""
    text = token.strip()
    if not text or any(byte <= 0x20 or byte >= 0x7F for byte in text):
        raise CredentialsError(f"{where}: the token is empty or holds characters that a token cannot")
    return f"Bearer {text.decode('ascii')}"
