"""The artifact server: the pods fetch a checked binary from it, and nothing else.

A file is served under the name of an attempt, to whoever has the attempt's token: it names no other attempt,
and after a while it names nothing. What is served is what was published, read from one open file: no path of
a request ever becomes a path here. Open while we lead; the secret of the tokens is made anew each time, so an
address that an earlier leader gave out ends with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
import structlog

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 64
"""Connections, each of which has a thread; a service has at most some dozens of servers."""
_SILENCE = 30
"""Seconds without a byte after which a connection is given up."""
_CHECKSUM, _SIGNATURE = ".sha256sum", ".minisig"


class Artifact(msgspec.Struct, frozen=True):
    """A binary that was checked, and the two files beside it."""

    name: str
    """`minio.RELEASE.2025-09-07T16-13-09Z`: the servers read the version from it."""
    binary: Path
    sha256: str
    signature: bytes

    @property
    def checksum(self) -> bytes:
        return f"{self.sha256}  {self.name}\n".encode()


class ArtifactServer:
    """Serves what was published, each attempt on its own path and with its own token."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._secret = secrets.token_bytes(32)
        self._now = now
        self._published: dict[str, Artifact] = {}
        self.tls = tls
        handler = type("Handler", (_Handler,), {"find": [self._find]})
        self._http = _Http(address, handler, tls)
        self._thread = threading.Thread(target=self._serve, name="artifacts", daemon=True)

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(1)

    def _serve(self) -> None:
        # how often it looks whether it is to stop: a term that ends does not wait for it
        self._http.serve_forever(0.05)

    def publish(self, attempt: str, artifact: Artifact) -> None:
        self._published[attempt] = artifact

    def withdraw(self, attempt: str) -> None:
        self._published.pop(attempt, None)

    def url(self, base: str, attempt: str, seconds: float) -> str:
        """The checksum file of a published attempt, where servers begin; good for so many seconds."""
        name = self._published[attempt].name
        until = int(self._now() + seconds)
        path = f"{quote(attempt, safe='')}/{quote(name, safe='')}{_CHECKSUM}"
        return f"{base.rstrip('/')}/{path}?token={until}.{self._mac(attempt, name, until)}"

    def _mac(self, attempt: str, name: str, until: int) -> str:
        said = "\0".join((attempt, name, str(until)))
        return hmac.new(self._secret, said.encode(), hashlib.sha256).hexdigest()

    def _find(self, attempt: str, file: str, token: str) -> bytes | Path | None:
        """What to send; None for everything that is not to be had, for whatever reason."""
        artifact = self._published.get(attempt)
        until, _, mac = token.partition(".")
        if artifact is None or not until.isdecimal() or len(until) > 12:
            return None
        if not hmac.compare_digest(mac.encode(), self._mac(attempt, artifact.name, int(until)).encode()):
            return None
        return _files(artifact).get(file) if self._now() <= int(until) else None


def _files(artifact: Artifact) -> Mapping[str, bytes | Path]:
    return {
        artifact.name: artifact.binary,
        artifact.name + _CHECKSUM: artifact.checksum,
        artifact.name + _SIGNATURE: artifact.signature,
    }


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = MOST_AT_ONCE

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._tls = tls
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # not that of HTTPServer, which asks who has this address: nobody wants to know, and it can take long
        TCPServer.server_bind(self)

    def process_request(self, request: socket.socket, client_address: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not self._places.acquire(blocking=False):
            self.close_request(request)
            return
        super().process_request(request, client_address)  # pyright: ignore[reportArgumentType]

    def process_request_thread(self, request: socket.socket, client_address: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            with contextlib.suppress(OSError):
                super().process_request_thread(self._secured(request), client_address)  # pyright: ignore[reportArgumentType]
        finally:
            self._places.release()

    def _secured(self, request: socket.socket) -> socket.socket:
        """On the connection's own thread: a handshake that never comes keeps nobody else waiting."""
        request.settimeout(_SILENCE)
        return request if self._tls is None else self._tls.wrap_socket(request, server_side=True)

    def handle_error(self, request: object, client_address: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        log.debug("a server hung up in the middle of a file", client=str(client_address))


class _Handler(BaseHTTPRequestHandler):
    find: list[Callable[[str, str, str], bytes | Path | None]]
    timeout = _SILENCE
    server_version = "shiplift"
    sys_version = ""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        attempt, _, file = asked.path.removeprefix("/").partition("/")
        token = parse_qs(asked.query, max_num_fields=4).get("token", [""])[0]
        content = self.find[0](attempt, file, token)
        if content is None:
            self._answer(404, b"not here\n")
        elif isinstance(content, bytes):
            self._answer(200, content)
        else:
            self._send_file(content)

    def _send_file(self, path: Path) -> None:
        with path.open("rb") as file:
            self._begin(200, path.stat().st_size)
            shutil.copyfileobj(file, self.wfile, 1 << 20)

    def _answer(self, status: int, body: bytes) -> None:
        self._begin(status, len(body))
        self.wfile.write(body)

    def _begin(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own word
        """Its line would hold the token."""
        log.debug("artifact", file=urlsplit(self.path).path if hasattr(self, "path") else "")
