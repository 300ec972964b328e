"""Requests and their answers over kept-alive connections, and when one may be sent again.

A request that certainly was not processed is sent again: no connection was made, the server sheds load, or a
401 made us get new credentials. One that may have been processed is sent again only if it changes nothing.
Whoever may write only for a while is asked each time that a change is about to be sent, when its connection
stands: after any waiting, not before. Bodies are bounded, and so is the time that a call takes, retries
included.
"""

from __future__ import annotations

import copy
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpcore2
import httpx2
import msgspec
import structlog

from shiplift.kube.answers import error_for
from shiplift.kube.credentials import Credentials, Impersonation
from shiplift.kube.errors import (
    ApiError,
    BadAnswer,
    KubeError,
    ServerError,
    Throttled,
    Unauthorized,
    Unreachable,
)
from shiplift.kube.sockets import Connection, TimeLeft

OBJECT_LIMIT = 8 << 20
LIST_LIMIT = 64 << 20
ERROR_LIMIT = 64 << 10

CONNECTIONS = 128
"""Of one client: more than there are threads in the operator (`engine.workers` has the sum), so that none
waits for one. Where more call at once, they wait in the order in which they came, as long as a call may take.
"""
IDLE_SECONDS = 60.0
CONNECT_SECONDS = 10.0
ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.1

log = structlog.get_logger(__name__)
_dice = random.Random()
"""Our own: threads of ours leave the one that all share alone."""


class Request(msgspec.Struct, frozen=True):
    """One call to the API server."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = "application/json"
    limit: int = OBJECT_LIMIT
    changes_nothing: bool = False

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Lost(KubeError):  # noqa: N818 - the answer is, not the request
    """The request was sent, and no whole answer came back."""


class Transport:
    """A pool of connections to one API server; safe to use from many threads."""

    def __init__(
        self, credentials: Credentials, timeout: float, may_write: Callable[[], object] | None = None
    ) -> None:
        self._credentials = credentials
        self._timeout = timeout
        self._may_write = may_write
        self._acting_as: list[tuple[str, str]] = []
        self._closed = threading.Event()
        self._http = httpx2.Client(
            transport=_Pool(credentials), trust_env=False, headers=_headers(credentials)
        )
        self._base = f"http://{credentials.server.authority}{credentials.server.prefix}"

    def close(self) -> None:
        """Close every connection; calls that wait to try again give up."""
        self._closed.set()
        self._http.close()

    def acting_as(self, who: Impersonation) -> Transport:
        """For requests made as somebody else, where RBAC allows it; over the same connections."""
        other = copy.copy(self)
        other._acting_as = who.headers()
        return other

    def call(self, request: Request, timeout: float | None = None) -> bytes:
        """The body of a good answer, or an error. `Lost` if the request may have been processed."""
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        before: KubeError | None = None
        for attempt in range(ATTEMPTS):
            try:
                return self._with_new_credentials(request, deadline)
            except _NoTimeLeft as error:
                raise before or error from None  # why it came to that says more
            except (Unreachable, Lost, ApiError) as error:
                before = error
                pause = _pause(request, error, attempt)
                if pause is None or time.monotonic() + pause >= deadline or attempt + 1 == ATTEMPTS:
                    raise
                log.debug("trying again", request=str(request), after=pause, reason=error.message)
                if self._closed.wait(pause):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def first_line(self, request: Request, timeout: float) -> bytes:
        """The first line of an answer that goes on; empty where it ends without one. Never tried again."""
        return self._with_new_credentials(request, time.monotonic() + timeout, _read_line)

    def _with_new_credentials(self, request: Request, deadline: float, read: _Reader | None = None) -> bytes:
        if self._closed.is_set():
            raise Unreachable(f"{request}: the client is closed")
        self._credentials.ssl_context()  # notices rotated certificates, which retires idle connections
        headers = self._request_headers()
        try:
            return self._once(request, headers, deadline, read or _read)
        except Unauthorized:
            self._credentials.invalidate(headers)
        return self._once(request, self._request_headers(), deadline, read or _read)

    def _request_headers(self) -> list[tuple[str, str]]:
        return self._credentials.headers() + self._acting_as

    def _once(
        self, request: Request, headers: list[tuple[str, str]], deadline: float, read: _Reader
    ) -> bytes:
        try:
            with self._http.stream(
                request.method,
                self._base + request.path,
                params=request.query or None,
                content=request.body or None,
                headers=[*headers, ("Content-Type", request.content_type)] if request.body else headers,
                extensions={"timeout": _time_left(deadline), **self._asking(request)},
            ) as response:
                return read(request, response, deadline)
        except httpx2.DecodingError:
            raise BadAnswer(f"{request}: the answer's compression is broken") from None

    def _asking(self, request: Request) -> dict[str, Any]:
        """Who is asked at the last moment before a change is sent."""
        if self._may_write is None or request.changes_nothing:
            return {}
        return {"trace": _AtTheLastMoment(self._may_write)}


class _AtTheLastMoment:
    """Asks when the first byte of a request is about to be written; an error there, and nothing is sent."""

    def __init__(self, may_write: Callable[[], object]) -> None:
        self._may_write = may_write

    def __call__(self, event: str, _: object) -> None:
        """As the connection pool tells what it does."""
        if event == "http11.send_request_headers.started":
            self._may_write()


def _headers(credentials: Credentials) -> dict[str, str]:
    return {
        "Accept": "application/json",
        "Accept-Encoding": "gzip" if credentials.compression else "identity",
        "User-Agent": "shiplift",
    }


class _NoTimeLeft(Unreachable):
    """Nothing was sent."""


def _time_left(deadline: float) -> TimeLeft:
    if deadline <= time.monotonic():
        raise _NoTimeLeft("no time left to send the request")
    return TimeLeft(deadline, CONNECT_SECONDS)


_Reader = Callable[[Request, httpx2.Response, float], bytes]
"""What is taken of an answer, by when."""


def _read_line(request: Request, response: httpx2.Response, deadline: float) -> bytes:
    if response.status_code >= 300:
        return _read(request, response, deadline)
    line = bytearray()
    for chunk in response.iter_bytes():
        line += chunk
        if b"\n" in chunk:
            break
        if len(line) > request.limit:
            raise BadAnswer(f"{request}: the answer is larger than {request.limit} bytes")
    return bytes(line.partition(b"\n")[0])


def _read(request: Request, response: httpx2.Response, deadline: float) -> bytes:
    failed = response.status_code >= 300
    body = bytearray()
    limit = ERROR_LIMIT if failed else request.limit
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > limit:
            if failed:
                break
            raise BadAnswer(f"{request}: the answer is larger than {limit} bytes")
        if time.monotonic() > deadline:
            raise Lost(f"{request}: the answer did not end in time")
    if failed:
        raise error_for(response.status_code, response.headers, bytes(body[:limit]))
    return bytes(body)


def _pause(request: Request, error: KubeError, attempt: int) -> float | None:
    """How long to wait before the request may be sent again; None if it may not."""
    certainly_unprocessed = isinstance(error, Unreachable | Throttled)
    overloaded = isinstance(error, ServerError) and error.status == 503
    if not certainly_unprocessed and not (
        request.changes_nothing and (overloaded or isinstance(error, Lost))
    ):
        return None
    if isinstance(error, ApiError) and error.retry_after is not None:
        return error.retry_after + _dice.uniform(0, 0.5)
    return FIRST_PAUSE_SECONDS * 2**attempt * _dice.uniform(1, 2)


class _Pool(httpx2.BaseTransport):
    """Connections that the credentials open: proxy, TLS and certificates are theirs alone to know."""

    def __init__(self, credentials: Credentials) -> None:
        self._pool = httpcore2.ConnectionPool(
            max_connections=CONNECTIONS,
            max_keepalive_connections=CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=_Opener(credentials),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        label = f"{request.method} {request.url.path}"
        sent = httpcore2.Request(
            request.method,
            httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            answer = self._pool.handle_request(sent)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout) as error:
            raise Unreachable(f"{label}: no connection: {_why(error)}") from error
        except _BROKEN as error:
            raise Lost(f"{label}: no answer: {_why(error)}") from error
        return httpx2.Response(answer.status, headers=answer.headers, stream=_Body(answer, label))

    def close(self) -> None:
        self._pool.close()


_BROKEN = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError)


def _why(error: Exception) -> str:
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name


class _Body(httpx2.SyncByteStream):
    def __init__(self, answer: httpcore2.Response, label: str) -> None:
        self._answer = answer
        self._label = label

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._answer.iter_stream()
        except _BROKEN as error:
            raise Lost(f"{self._label}: the answer was cut off: {_why(error)}") from error

    def close(self) -> None:
        self._answer.close()


class _Opener(httpcore2.NetworkBackend):
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """The pool names the host; the credentials know better how to get there."""
        del host, port, local_address, socket_options
        generation = self._credentials.generation
        opened = self._credentials.open(CONNECT_SECONDS if timeout is None else timeout)
        return Connection(opened, lambda: generation != self._credentials.generation)
