"""Short HTTPS questions on loopback: is a component healthy, and what etcd has to say."""

from __future__ import annotations

import http.client
import ssl
from pathlib import Path


def trust(authority: Path, certificate: Path | None = None) -> ssl.SSLContext:
    """Verify with the cluster's own authority; with a certificate, say who we are."""
    context = ssl.create_default_context(cafile=str(authority))
    if certificate:
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


def ask(
    port: int, path: str, context: ssl.SSLContext, body: bytes | None = None, timeout: float = 5.0
) -> tuple[int, bytes]:
    """Status and body; OSError when there is no answer."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=context)
    try:
        connection.request("GET" if body is None else "POST", path, body)
        response = connection.getresponse()
        return response.status, response.read()
    except http.client.HTTPException as error:
        raise ConnectionError(f"port {port} does not speak HTTP: {error}") from error
    finally:
        connection.close()


def healthy(port: int, path: str, context: ssl.SSLContext) -> bool:
    try:
        return ask(port, path, context, timeout=2.0)[0] == http.client.OK
    except OSError:
        return False
