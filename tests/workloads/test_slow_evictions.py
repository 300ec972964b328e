"""Evictions that somebody holds up: an admission webhook that takes its time."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shiplift.facts.kinds import Kind
from tests.workloads.rig import NEW, OLD, Rig, Scene

WEBHOOKS = Kind(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    "v1",
    namespaced=False,
)
NAME = "evictions.example.com"


class Gatekeeper:
    """Asked about every eviction in the namespaces that it watches, it answers when it is let."""

    def __init__(self, rig: Rig) -> None:
        self.asked: list[str] = []
        self.let = threading.Event()
        self._client = rig.client
        pki = rig.cluster.layout.pki
        keeper = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                keeper.asked.append(review["request"]["name"])
                keeper.let.wait(25)
                review["response"] = {"uid": review["request"]["uid"], "allowed": True}
                del review["request"]
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(json.dumps(review).encode())

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "server.crt", pki / "server.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._authority = b64encode((pki / "ca.crt").read_bytes()).decode()
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def watch(self, namespace: str) -> None:
        """From now on its word is asked for in this namespace."""
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["pods/eviction"],
        }
        address = f"https://127.0.0.1:{self._server.server_port}/"
        webhook = {
            "name": NAME,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 30,
            "failurePolicy": "Fail",
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "clientConfig": {"url": address, "caBundle": self._authority},
        }
        self._client.create(WEBHOOKS, {"metadata": {"name": NAME}, "webhooks": [webhook]})

    def close(self) -> None:
        self.let.set()
        found = self._client.get(WEBHOOKS, NAME)
        self._client.delete(WEBHOOKS, NAME, uid=found["metadata"]["uid"])
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def gatekeeper(rig: Rig) -> Iterator[Gatekeeper]:
    keeper = Gatekeeper(rig)
    yield keeper
    keeper.close()


def test_an_eviction_that_hangs_holds_up_nobody_else(scene: Scene, gatekeeper: Gatekeeper) -> None:
    old = scene.nodes("old", OLD)
    slow, quick = scene.namespace("slow"), scene.namespace("quick")
    gatekeeper.watch(slow)
    scene.deployment(slow, "slow", 4, spec={"strategy": {"rollingUpdate": {"maxUnavailable": 2}}})
    for name in ("db", "api", "web"):
        scene.deployment(quick, name, 2)
    scene.order(quick, web=["api"], api=["db"])
    scene.wait_ready(slow, slow=4)
    scene.wait_ready(quick, db=2, api=2, web=2)
    scene.nodes("new", NEW)
    scene.migrate(target=NEW)
    scene.rig.start()
    scene.wait(lambda: scene.arrived(quick, "db", "api", "web"), 20)
    assert scene.places(slow, "slow") == ["old"] * 4
    assert len(gatekeeper.asked) == 1, "the second of its workload waits for the first"
    gatekeeper.let.set()
    scene.finish(old)
    assert len(gatekeeper.asked) == len(set(gatekeeper.asked)) == 4


def test_what_waits_behind_an_eviction_that_hangs_is_not_sent_once_paused(
    scene: Scene, gatekeeper: Gatekeeper
) -> None:
    old = scene.nodes("old", OLD)
    slow = scene.namespace("slow")
    gatekeeper.watch(slow)
    scene.deployment(slow, "slow", 4, spec={"strategy": {"rollingUpdate": {"maxUnavailable": 2}}})
    scene.wait_ready(slow, slow=4)
    scene.nodes("new", NEW)
    scene.migrate(target=NEW)
    scene.rig.start()
    scene.wait(lambda: gatekeeper.asked, 20)
    scene.change_migration(paused=True)
    scene.wait(lambda: scene.status()["message"].startswith("paused"), 10)
    gatekeeper.let.set()
    scene.wait(lambda: scene.places(slow, "slow") == ["new", "old", "old", "old"], 20)
    assert len(gatekeeper.asked) == 1
    scene.change_migration(paused=False)
    scene.finish(old)
    assert len(gatekeeper.asked) == 4
