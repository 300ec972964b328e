"""`/metrics`, `/healthz`, `/readyz` and `/actingz`, for the kubelet, Prometheus and `helm test`.

On a laptop over plain HTTP; inside a cluster over TLS, where metrics are for whom the API server lets read
them, and probes for everybody: the kubelet has no token.

There are never more than a few connections, and threads, at once: where one more comes, the oldest is hung
up. So whoever holds connections open and says nothing keeps no probe from its answer.
"""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

import msgspec
import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from shiplift.kube.credentials import hang_up
from shiplift.kube.reviews import METRICS, Verdict

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 16
"""Connections, each of which has a thread."""

Probe = Callable[[], list[str]]
"""What is wrong, a line each; nothing where all is well."""


def _nothing() -> None:
    pass


_REFUSALS = {Verdict.NOBODY: 401, Verdict.REFUSED: 403, Verdict.UNKNOWN: 503}


class Secured(msgspec.Struct, frozen=True):
    """TLS, and who may read metrics."""

    context: Callable[[], ssl.SSLContext]
    """For the next connection: certificates are renewed."""
    verdict: Callable[[str], Verdict]
    """For who sends this header `Authorization`."""
    close: Callable[[], None] = _nothing
    """Called when the server stops."""


class Server:
    """Answers on its own threads; a probe that fails says why in its body."""

    def __init__(
        self,
        address: tuple[str, int],
        registry: CollectorRegistry,
        probes: Mapping[str, Probe],
        secured: Secured | None = None,
    ) -> None:
        about = {"registry": registry, "probes": probes, "secured": secured}
        self._secured = secured
        self._http = _Http(address, type("Handler", (_Handler,), about), secured)
        self._thread = threading.Thread(target=self._http.serve_forever, name="http", daemon=True)

    @property
    def address(self) -> str:
        host, port = str(self._http.server_address[0]), self._http.server_address[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(1)
        if self._secured is not None:
            self._secured.close()


class _Http(ThreadingHTTPServer):
    """A server on an address of either family; `::` and no address at all are those of both."""

    daemon_threads = True
    request_queue_size = 4 * MOST_AT_ONCE

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], secured: Secured | None
    ) -> None:
        host, port = address
        self._secured = secured
        everywhere = host in ("", "::") and socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if everywhere else _family(host, port)
        self._of_both = everywhere
        self._connections: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        super().__init__(("::" if everywhere else host, port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not self._of_both)
        # not that of HTTPServer, which asks who has this address: nobody wants to know, and it can take long
        TCPServer.server_bind(self)

    def get_request(self) -> tuple[socket.socket, object]:
        """Nothing is said here yet: who is slow to shake hands keeps nobody from being heard."""
        connection, address = super().get_request()
        if self._secured is None:
            return connection, address
        try:
            context = self._secured.context()
            return context.wrap_socket(connection, True, do_handshake_on_connect=False), address
        except Exception as error:
            connection.close()
            raise OSError(f"no TLS: {error}") from error

    def handle_error(self, request: object, client_address: object) -> None:
        """Somebody who hangs up, or speaks no TLS, is no news; anything else is a fault of ours."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            log.debug("http", reason=str(error))
        else:
            log.warning("http request failed", exc_info=error)

    def process_request(self, request: socket.socket, client_address: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        with self._lock:
            self._connections[request] = None
            oldest = next(iter(self._connections)) if len(self._connections) > MOST_AT_ONCE else None
            if oldest is not None:
                del self._connections[oldest]
                hang_up(oldest)
        super().process_request(request, client_address)  # pyright: ignore[reportArgumentType]

    def shutdown_request(self, request: socket.socket) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)


def _family(host: str, port: int) -> socket.AddressFamily:
    """Of the first address that the host has."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return found[0][0]


class _Handler(BaseHTTPRequestHandler):
    registry: CollectorRegistry
    probes: Mapping[str, Probe]
    """By their path."""
    secured: Secured | None
    timeout = 10
    server_version = "shiplift"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == METRICS:
            self._answer_metrics()
        elif path in self.probes:
            self._answer_probe(self.probes[path])
        else:
            self._answer(404, f"try {', '.join((METRICS, *self.probes))}\n".encode())

    def _answer_metrics(self) -> None:
        if self.secured is not None:
            verdict = self.secured.verdict(self.headers.get("Authorization", ""))
            if status := _REFUSALS.get(verdict):
                return self._answer(status, f"{verdict.value}\n".encode())
        return self._answer(200, generate_latest(self.registry), CONTENT_TYPE_LATEST)

    def _answer_probe(self, probe: Probe) -> None:
        wrong = probe()
        body = "\n".join(wrong) or "ok"
        self._answer(503 if wrong else 200, f"{body}\n".encode())

    def _answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own word
        log.debug("http", request=format % args)
