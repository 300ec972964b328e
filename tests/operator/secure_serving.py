"""A server over TLS as the operator's, and how it is asked."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Gauge

from shiplift.operator.serving import Secured, Server


@contextmanager
def serving(secured: Secured) -> Iterator[Server]:
    registry = CollectorRegistry()
    Gauge("shiplift_leading", "Of the test.", registry=registry).set(1)
    server = Server(("127.0.0.1", 0), registry, {"/healthz": list, "/readyz": lambda: ["not yet"]}, secured)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def trusting_anybody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def got(server: Server, path: str, token: str = "", tls: ssl.SSLContext | None = None) -> tuple[int, str]:
    connection = http.client.HTTPSConnection(server.address, timeout=30, context=tls or trusting_anybody())
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
