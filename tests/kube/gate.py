"""A TCP gate between the store and a real API server: open, shut, or silent."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from pathlib import Path

import yaml

from tests.accepting import accepted


class Gate:
    """Forwards bytes. Shut: connections end and new ones are refused. Silent: bytes are swallowed."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self.heard = bytearray()
        """What clients have sent, as it was on the wire."""
        self._silent = False
        self._shut = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self) -> None:
        self._shut = True
        self._end_all()

    def open(self) -> None:
        self._shut = self._silent = False

    def silence(self) -> None:
        """Existing connections stay up and nothing comes through any more."""
        self._silent = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end_all()

    def _end_all(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for end in (end for pair in pairs for end in pair):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        for near in accepted(self._listener):
            self.connections += 1
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            if self._shut:
                return
            with socket.create_connection(self._target, 5) as far:
                with self._lock:
                    self._pairs.append((near, far))
                self._pump(near, far)

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                    if not data:
                        return
                    if key.fileobj is near:
                        self.heard += data
                    if not self._silent:
                        key.data.sendall(data)


def kubeconfig_through(gate: Gate, kubeconfig: Path, folder: Path) -> Path:
    """The same kubeconfig, but its server is the gate."""
    config = yaml.safe_load(kubeconfig.read_text())
    for entry in config["clusters"]:
        entry["cluster"]["server"] = f"https://127.0.0.1:{gate.port}"
    path = folder / "through-the-gate"
    path.write_text(yaml.safe_dump(config))
    return path
