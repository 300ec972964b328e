"""A provider of policies: one document over https, changed from outside; every call is noted."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from shiplift.local import pki


class Provider:
    """What it says, and when it was asked."""

    def __init__(self, folder: Path) -> None:
        pki.write_all(folder)
        self.authority = (folder / "ca.crt").read_text()
        self.version = ""
        self.asked: list[float] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_port}/policy"

    def document(self) -> bytes:
        self.asked.append(time.monotonic())
        said: Any = {"policies": []}
        if self.version:
            said = {"id": self.version, "desired": {"version": self.version}}
        return json.dumps(said).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = provider.document()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    return Handler


@contextmanager
def provided(folder: Path) -> Generator[Provider]:
    made = Provider(folder)
    try:
        yield made
    finally:
        made.close()
