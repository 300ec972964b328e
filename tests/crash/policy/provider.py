"""A provider behind the fault proxy, over plain HTTP (TLS is the proxy's): a document, OCM, and a webhook."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.crash.policy.scenarios import Json
from tests.outside.https import Asked, Reply
from tests.policy.ocm_server import OcmServer


class Provider:
    """What it says, and what it was told."""

    def __init__(self) -> None:
        self.document: Json = {"policies": []}
        self.ocm = OcmServer()
        self.events: list[tuple[str, str]] = []
        """What the webhook was told: ids and types of events."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def answer(self, asked: Asked) -> Reply:
        if asked.path.startswith("/policy"):
            return Reply(body=json.dumps(self.document).encode())
        if asked.path.startswith("/hook"):
            event = json.loads(asked.body)
            self.events.append((event["id"], event["type"].rpartition(".")[2]))
            return Reply(202)
        return self.ocm.answer(asked)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {key.lower(): value for key, value in self.headers.items()}
            reply = provider.answer(Asked(self.command, self.path, headers, body))
            self.send_response(reply.status)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    return Handler
