"""One way to a connected socket, for writes and watches alike: straight, or through a proxy's CONNECT."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import time
from urllib.parse import unquote, urlsplit

import msgspec

from shiplift.kube.answers import cut
from shiplift.kube.errors import CredentialsError, Unreachable

_ANSWER_LIMIT = 16 << 10


class Server(msgspec.Struct, frozen=True):
    """Where the API server is."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    tls_name: str = ""

    @property
    def authority(self) -> str:
        """Host and port, as an address and as a Host header want them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


class Proxy(msgspec.Struct, frozen=True):
    """An HTTP proxy between us and the API server."""

    host: str
    port: int
    username: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"<Proxy {self.host}:{self.port}>"


def parse_server(url: str, where: str, tls_name: str = "", *, secure: bool = True) -> Server:
    """The parts of a server address; without a scheme it is https where TLS is set up, as for kubectl."""
    full = url if "://" in url else f"{'https' if secure else 'http'}://{url}"
    scheme, host, port, path, _ = _split(full, where)
    if scheme not in ("https", "http"):
        raise CredentialsError(f"{where}: scheme {scheme!r} is neither https nor http")
    return Server(scheme, host, port or (443 if scheme == "https" else 80), path.rstrip("/"), tls_name)


def parse_proxy(url: str, where: str) -> Proxy:
    """The parts of a proxy address."""
    scheme, host, port, _, login = _split(url, where)
    if scheme != "http":
        raise CredentialsError(f"{where}: {scheme} proxies are not supported", hint="use an http:// proxy")
    username, _, password = login.partition(":")
    return Proxy(host, port or 80, unquote(username), unquote(password))


def _split(url: str, where: str) -> tuple[str, str, int | None, str, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise CredentialsError(f"{where}: not an address") from None
    if not host or any(c.isspace() or not c.isprintable() for c in url):
        raise CredentialsError(f"{where}: not an address")
    login = parts.netloc.rpartition("@")[0]
    return parts.scheme, host, port, parts.path, login


def connect(server: Server, proxy: Proxy | None, tls: ssl.SSLContext | None, timeout: float) -> socket.socket:
    """A connected socket, TLS done; it still has the timeout set."""
    deadline = time.monotonic() + timeout
    raw = _reach(proxy or server, timeout)
    try:
        if proxy is not None:
            _tunnel(raw, proxy, server, deadline)
        raw.settimeout(_left(deadline))
        return raw if tls is None else _secure(raw, tls, server)
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
        raise Unreachable(f"cannot connect to {target.host} port {target.port}: {_why(error)}") from error
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return raw


def _secure(raw: socket.socket, tls: ssl.SSLContext, server: Server) -> socket.socket:
    try:
        return tls.wrap_socket(raw, server_hostname=server.tls_name or server.host)
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(
            f"{server.authority} shows a certificate that is not trusted: {error.verify_message}",
            hint="check certificate-authority and tls-server-name",
        ) from error
    except OSError as error:
        raise Unreachable(f"no TLS with {server.authority}: {_why(error)}") from error


def _tunnel(raw: socket.socket, proxy: Proxy, server: Server, deadline: float) -> None:
    lines = [f"CONNECT {server.authority} HTTP/1.1", f"Host: {server.authority}"]
    if proxy.username:
        login = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {login}")
    try:
        raw.settimeout(_left(deadline))
        raw.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        status = _status_line(raw, deadline)
    except OSError as error:
        raise Unreachable(f"no answer from proxy {proxy.host} port {proxy.port}: {_why(error)}") from error
    code = status.split(" ")[1:2]
    if code != ["200"]:
        raise Unreachable(
            f"proxy {proxy.host} port {proxy.port} refuses {server.authority}: {cut(status, 200)}"
        )


def _status_line(raw: socket.socket, deadline: float) -> str:
    """Read the head of the proxy's answer, and not a byte of what follows it."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        raw.settimeout(_left(deadline))
        byte = raw.recv(1)
        if not byte or len(head) >= _ANSWER_LIMIT:
            raise OSError("it closed the connection or sent no HTTP")
        head += byte
    return head.split(b"\r\n", 1)[0].decode("latin-1")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Unreachable("no connection in time")
    return left


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    return getattr(error, "strerror", None) or str(error)
