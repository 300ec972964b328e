"""A small provider with an HTTP interface: it has a berth for every ship that asks, one each."""

from __future__ import annotations

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Harbour:
    """Listens until closed. `PUT /berths/NAME` gives a berth, always the same one; `DELETE` takes it back."""

    def __init__(self) -> None:
        self.berths: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def give(self, name: str) -> int:
        with self._lock:
            return self.berths.setdefault(name, next(self._numbers))

    def take_back(self, name: str) -> None:
        with self._lock:
            self.berths.pop(name, None)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


def _handler(harbour: Harbour) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            self._answer(200, {"berth": harbour.give(self._name)})

        def do_DELETE(self) -> None:
            harbour.take_back(self._name)
            self._answer(200, {})

        @property
        def _name(self) -> str:
            return self.path.rpartition("/")[2]

        def _answer(self, status: int, said: Any) -> None:
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            """Nobody reads it."""

    return Handler
