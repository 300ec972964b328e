"""`/metrics`, `/healthz` and `/readyz` over plain HTTP, for the kubelet and Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

log = structlog.get_logger(__name__)

Probe = Callable[[], list[str]]
"""What is wrong, a line each; nothing where all is well."""


class Server:
    """Answers on its own threads; a probe that fails says why in its body."""

    def __init__(
        self, address: tuple[str, int], registry: CollectorRegistry, live: Probe, ready: Probe
    ) -> None:
        handler = type("Handler", (_Handler,), {"registry": registry, "live": [live], "ready": [ready]})
        self._http = ThreadingHTTPServer(address, handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, name="http", daemon=True)

    @property
    def address(self) -> str:
        host, port = self._http.server_address[:2]
        return f"{host!s}:{port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    registry: CollectorRegistry
    live: list[Probe]
    ready: list[Probe]
    timeout = 10
    server_version = "shiplift"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        match path:
            case "/metrics":
                self._answer(200, generate_latest(self.registry), CONTENT_TYPE_LATEST)
            case "/healthz":
                self._answer_probe(self.live[0])
            case "/readyz":
                self._answer_probe(self.ready[0])
            case _:
                self._answer(404, b"try /metrics, /healthz or /readyz\n")

    def _answer_probe(self, probe: Probe) -> None:
        wrong = probe()
        body = "\n".join(wrong) or "ok"
        self._answer(503 if wrong else 200, f"{body}\n".encode())

    def _answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own word
        log.debug("http", request=format % args)
