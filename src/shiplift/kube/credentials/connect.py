"""One way to a connected socket, for writes and watches alike: straight, or through a proxy."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time

from shiplift.kube.credentials import tunnel
from shiplift.kube.credentials.address import Proxy, Server
from shiplift.kube.credentials.nested import Nested
from shiplift.kube.errors import Unreachable


def connect(
    server: Server,
    proxy: Proxy | None,
    tls: ssl.SSLContext | None,
    timeout: float,
    proxy_tls: ssl.SSLContext | None = None,
) -> socket.socket:
    """A connected socket, TLS done; it still has the timeout set. A proxy may be reached by TLS itself."""
    deadline = time.monotonic() + timeout
    raw = _reach(proxy or server, timeout)
    try:
        if proxy is not None:
            if proxy_tls is not None:
                raw = _secure(raw, proxy_tls, proxy.host, f"proxy {proxy.host} port {proxy.port}")
            tunnel.through(raw, proxy, server, deadline)
        raw.settimeout(tunnel.left(deadline))
        return raw if tls is None else _secure(raw, tls, server.tls_name or server.host, server.authority)
    except BaseException:
        raw.close()
        raise


def hang_up(connection: socket.socket) -> None:
    """From any thread: whoever reads or writes there is told that it is over; closing it is still theirs.

    Not by the socket's own `shutdown` or `close`: those of a TLS socket take TLS away first, and a thread
    that is about to write then sends its token in the clear, one that reads takes cipher for an answer.
    """
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _reach(target: Server | Proxy, timeout: float) -> socket.socket:
    try:
        raw = socket.create_connection((target.host, target.port), timeout)
    except (OSError, UnicodeError) as error:
        raise Unreachable(
            f"cannot connect to {target.host} port {target.port}: {tunnel.why(error)}"
        ) from error
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return raw


def _secure(raw: socket.socket, tls: ssl.SSLContext, name: str, whom: str) -> socket.socket:
    try:
        return _nested(raw, tls, name) if isinstance(raw, ssl.SSLSocket) else _wrapped(raw, tls, name)
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(
            f"{whom} shows a certificate that is not trusted: {error.verify_message}",
            hint="check certificate-authority and tls-server-name",
        ) from error
    except OSError as error:
        raise Unreachable(f"no TLS with {whom}: {tunnel.why(error)}") from error


def _wrapped(raw: socket.socket, tls: ssl.SSLContext, name: str) -> socket.socket:
    return tls.wrap_socket(raw, server_hostname=name)


def _nested(outer: ssl.SSLSocket, tls: ssl.SSLContext, name: str) -> socket.socket:
    nested = Nested(outer, tls, name)
    try:
        nested.shake_hands()
    except BaseException:
        nested.close()
        raise
    return nested
