"""The HTTP door: one call at a time, and what keeps each of them harmless.

- who answers is verified by TLS; a token goes out by https only, and to the host that it is for;
- a call has so many seconds in all and an answer so many bytes, whatever the other side does;
- a redirect is followed on reads only, to the same host or one that is allowed, never from https to http;
- addresses are judged when the connection is made (`addresses`), each time anew;
- what is said of a call names its host and nothing more, and no token.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore2
import msgspec

from shiplift.api.values import duration
from shiplift.kube.answers import cut
from shiplift.kube.credentials import tls
from shiplift.kube.credentials.address import Server
from shiplift.kube.errors import KubeError
from shiplift.kube.secrets import Hidden
from shiplift.kube.sockets import Connection, TimeLeft
from shiplift.outside.addresses import networks
from shiplift.outside.errors import Answered, Lost, Refused, TooLarge, Unreachable
from shiplift.outside.opening import Opener, Resolve, addresses_of
from shiplift.outside.reaching import Reaching

MOST_REDIRECTS = 5
LONGEST_WAIT = 3600.0
"""Seconds that somebody may ask us to wait."""
_SAID = 300
"""Characters of a failure's text that are kept."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READS = frozenset({"GET", "HEAD"})
_TELLING = 8
"""A part of a token so long, or longer, tells something of it."""
_BROKEN = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError)


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How far a door leads."""

    hosts: tuple[str, ...] = ()
    """Where a redirect may lead, besides the host that was asked."""
    private: tuple[str, ...] = ()
    """Networks of private addresses that may be reached, such as `10.0.0.0/8`."""
    authority: str = ""
    """Who vouches for the other side, as PEM; the system's authorities where empty."""
    seconds: float = 10.0
    """A call may take so long in all."""
    most: int = 1 << 20
    """An answer may have so many bytes."""


class Call(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    token: Hidden | None = None
    scheme: str = "Bearer"
    """How the token is announced."""

    def __repr__(self) -> str:
        return f"<{self.method} {_host_of(self.url)}>"


class Got(msgspec.Struct, frozen=True):
    """What came back, whatever its status."""

    about: str
    """The call, for messages."""
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    token: Hidden | None = None

    def __repr__(self) -> str:
        return f"<{self.status} of {self.about}>"

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    @property
    def retry_after(self) -> float | None:
        """For how many seconds the other side asks us to wait: it says a number, or a time."""
        said = self.header("retry-after").strip()
        if said.isascii() and said.isdigit():
            return min(float(said[:10]), LONGEST_WAIT)
        return _until(said)

    def good(self) -> Got:
        """This, or `Answered` where it is a failure."""
        if 200 <= self.status < 300:
            return self
        # hidden first: the head of a token that was cut through would not be known as one
        text = self.hidden(self.body.decode(errors="replace"))
        raise self.failure(f"answered {self.status}: {cut(text, _SAID)}" if text.strip() else "")

    def failure(self, why: str = "") -> Answered:
        """An error about this answer; what the other side said is in `why` only if it was `hidden`."""
        return Answered(
            f"{self.about}: {why or f'answered {self.status}'}",
            status=self.status,
            retry_after=self.retry_after,
        )

    def hidden(self, text: str) -> str:
        """The text without the token that was sent, should the other side repeat it."""
        return without(text, self.token)


def _until(said: str) -> float | None:
    """Seconds until a time as HTTP writes it; None where it is none."""
    try:
        wait = parsedate_to_datetime(said).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(wait, 0.0), LONGEST_WAIT)


def without(text: str, token: Hidden | None) -> str:
    """The text without the token and without any part of it that tells something."""
    if token is None:
        return text
    whole = token.reveal().decode(errors="replace")
    for part in sorted({whole, *whole.split(":")}, key=len, reverse=True):
        if len(part) >= _TELLING or part == whole:
            text = text.replace(part, "…")
    return text


class Door:
    """Sends calls; safe to use from many threads, each call has a connection of its own."""

    def __init__(self, reach: Reach | None = None, resolve: Resolve = addresses_of) -> None:
        self._reach = reach or Reach()
        try:
            self._opener = Opener(networks(self._reach.private), resolve)
            self._tls = tls.context(self._reach.authority.encode(), None)
        except (KubeError, ValueError) as error:
            raise Refused(str(error)) from None

    def send(self, call: Call) -> Got:
        """The answer, whatever its status; an `OutsideError` where there is none that may be used."""
        deadline = time.monotonic() + self._reach.seconds
        for _ in range(MOST_REDIRECTS + 1):
            got = self._once(call, deadline)
            if got.status not in _REDIRECTS or call.method not in _READS:
                return got
            call = self._followed(call, got)
        raise Refused(f"{call.method} {_host_of(call.url)}: redirected more than {MOST_REDIRECTS} times")

    def _followed(self, call: Call, got: Got) -> Call:
        """The call that a redirect asks for; the token stays where it is for."""
        try:
            target = urljoin(call.url, got.header("location"))
        except ValueError:
            raise Refused(f"{got.about}: redirected to what is no address") from None
        before, after = _server(call.url), _server(target)
        if after.host not in {before.host, *self._reach.hosts}:
            raise Refused(
                f"{got.about}: redirected to {got.hidden(after.host)}, which is not allowed",
                hint="name it in `reach.hosts` where that is meant",
            )
        if before.scheme == "https" and after.scheme != "https":
            raise Refused(f"{got.about}: redirected from https to http")
        same = (before.scheme, before.host, before.port) == (after.scheme, after.host, after.port)
        return msgspec.structs.replace(call, url=target, token=call.token if same else None)

    def _once(self, call: Call, deadline: float) -> Got:
        server = _server(call.url)
        if call.token is not None and server.scheme != "https":
            raise Refused(f"{call.method} {server.host}: a token is sent by https only")
        opened = self._opener.open(server, self._tls if server.scheme == "https" else None, deadline)
        about = f"{call.method} {server.host}"
        backend = _Opened(_Timed(opened, deadline))
        try:
            with httpcore2.ConnectionPool(max_connections=1, network_backend=backend) as pool:
                return self._exchanged(pool, call, about, deadline)
        except _BROKEN as error:
            words = str(error) or type(error).__name__
            raise Lost(f"{about}: no whole answer: {cut(without(words, call.token), 200)}") from None
        finally:
            opened.close()

    def _exchanged(self, pool: httpcore2.ConnectionPool, call: Call, about: str, deadline: float) -> Got:
        server = _server(call.url)
        with pool.stream(
            call.method,
            httpcore2.URL(scheme="http", host=server.host, port=server.port, target=_target(call.url)),
            headers=_headers(call, server),
            content=call.body or None,
            extensions={"timeout": TimeLeft(deadline, self._reach.seconds)},
        ) as answer:
            body = _read(about, answer.iter_stream(), self._reach.most)
            headers = tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in answer.headers)
            return Got(about, answer.status, headers, body, call.token)


def door_for(reaching: Reaching, most: int = 1 << 20) -> Door:
    """As the settings allow it; an answer may have so many bytes."""
    return Door(
        Reach(
            hosts=reaching.hosts,
            private=reaching.private,
            authority=reaching.authority,
            seconds=duration(reaching.timeout).total_seconds(),
            most=most,
        )
    )


def _read(about: str, stream: Iterable[bytes], most: int) -> bytes:
    body = bytearray()
    for chunk in stream:
        body += chunk
        if len(body) > most:
            raise TooLarge(f"{about}: the answer is larger than {most} bytes")
    return bytes(body)


def _headers(call: Call, server: Server) -> list[tuple[str, str]]:
    usual = 443 if server.scheme == "https" else 80
    host = server.authority.removesuffix(f":{usual}")
    own = [
        ("Host", host),
        ("User-Agent", "shiplift"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]
    if call.body or call.method not in _READS:
        own.append(("Content-Length", str(len(call.body))))
    if call.token is not None:
        own.append(("Authorization", f"{call.scheme} {_shown(call.token)}"))
    return [*own, *call.headers]


def _shown(token: Hidden) -> str:
    """As a header carries it; what would end the header is refused, and not shown."""
    try:
        text = token.reveal().decode("ascii").strip()
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable():
        raise Refused("the token is not one line of plain characters")
    return text


def _server(url: str) -> Server:
    """Where an address leads; anything unusual about it is refused without repeating it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Refused("not an address that can be called") from None
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("https", "http") or not host or not plain:
        raise Refused("not an address that can be called", hint="such as https://policies.example/cluster")
    if "@" in parts.netloc:
        raise Refused(f"the address of {host} holds a login", hint="put a token into a Secret instead")
    return Server(parts.scheme, host, port or (443 if parts.scheme == "https" else 80))


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class _Timed(Connection):
    """A connection that is not read past its time, however busily the other side talks."""

    def __init__(self, opened: Any, deadline: float) -> None:
        super().__init__(opened, lambda: True)
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if time.monotonic() > self._deadline:
            raise httpcore2.ReadTimeout("it took too long")
        return super().read(max_bytes, timeout)


class _Opened(httpcore2.NetworkBackend):
    """The one connection that there is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """It is made already: names and addresses were judged then."""
        del host, port, timeout, local_address, socket_options
        return self._connection


__all__ = ["Call", "Door", "Got", "Reach", "Unreachable", "door_for", "without"]
