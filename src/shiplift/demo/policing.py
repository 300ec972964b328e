"""The policy of the demo: a document over https that names a version, and the settings that lead to it.

The server is in this process and ends with it; its certificate is the one that the cluster has for this
computer. The user's own WorkloadMigration is there before: of it the upgrade changes the target alone.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from shiplift.demo.plot import FROM, TARGET
from shiplift.facts.kinds import CONFIG_MAP, WORKLOAD_MIGRATION
from shiplift.kube import config
from shiplift.kube.client import Client
from shiplift.operator import install

DOCUMENT = f"""id: november
type: External
desired: {{version: {TARGET}}}
"""
"""What the provider says: the version, and that somebody else brings the nodes."""
_MIGRATION = {"target": FROM, "waitForNodes": {"settle": "1s"}}
"""All nodes of the demo come at once."""


@contextlib.contextmanager
def published(client: Client, keys: Path) -> Generator[None]:
    """The document can be had, and the operator is told where, until the end of the block."""
    with _serving(keys) as url:
        section = {
            "provider": "HTTP",
            "http": {"url": url},
            "reach": {"private": ["127.0.0.0/8"], "authority": (keys / "ca.crt").read_text()},
        }
        _create(client, config.NAME, {config.KEY: yaml.safe_dump({"configManager": section})})
        client.create(WORKLOAD_MIGRATION, {"metadata": {"name": "cluster"}, "spec": _MIGRATION})
        yield


def _create(client: Client, name: str, data: dict[str, str]) -> None:
    client.create(CONFIG_MAP, {"metadata": {"name": name}, "data": data}, install.NAMESPACE)


@contextlib.contextmanager
def _serving(keys: Path) -> Generator[str]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(keys / "server.crt", keys / "server.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Document) as server:
        server.daemon_threads = True
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, name="policy", daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}/policy.yaml"
        finally:
            server.shutdown()
            thread.join(1)


class _Document(BaseHTTPRequestHandler):
    """Whatever is asked for, the policy is the answer."""

    def do_GET(self) -> None:
        body = DOCUMENT.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has in the library
        """Nobody reads it."""
