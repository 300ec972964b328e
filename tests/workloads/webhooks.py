"""Admission webhooks of somebody else: a real server that the API server asks."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shiplift.facts.kinds import Kind
from tests.workloads.rig import Rig

Json = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
VALIDATING = Kind(
    "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", GROUP, "v1", namespaced=False
)
MUTATING = Kind(
    "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", GROUP, "v1", namespaced=False
)


class Webhook:
    """Asked about every creation of a resource in one namespace, it answers what it is told to."""

    def __init__(self, rig: Rig, kind: Kind, name: str, answer: Callable[[Json], Json]) -> None:
        self._client, self._kind, self._name = rig.client, kind, name
        pki = rig.cluster.layout.pki
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(answer))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "server.crt", pki / "server.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._authority = b64encode((pki / "ca.crt").read_bytes()).decode()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def watch(self, namespace: str, resource: str, **more: Any) -> None:
        """From now on its word is asked for in this namespace."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
        address = f"https://127.0.0.1:{self._server.server_port}/"
        webhook = {
            "name": self._name,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 30,
            "failurePolicy": "Fail",
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "clientConfig": {"url": address, "caBundle": self._authority},
            **more,
        }
        self._client.create(self._kind, {"metadata": {"name": self._name}, "webhooks": [webhook]})

    def close(self) -> None:
        found = self._client.get(self._kind, self._name)
        self._client.delete(self._kind, self._name, uid=found["metadata"]["uid"])
        self._server.shutdown()
        self._server.server_close()


def _handler(answer: Callable[[Json], Json]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = review.pop("request")
            review["response"] = {"uid": request["uid"], "allowed": True, **answer(request)}
            with contextlib.suppress(OSError):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(review).encode())

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    return Handler
