"""Through a proxy to the API server: by the CONNECT of an HTTP proxy, or by SOCKS 5. Not a byte is read that
is not the proxy's own; names are resolved by the proxy."""

from __future__ import annotations

import base64
import ipaddress
import socket
import time

from shiplift.kube.answers import cut
from shiplift.kube.credentials.address import Proxy, Server
from shiplift.kube.errors import Unreachable

_ANSWER_LIMIT = 16 << 10
_NO_LOGIN, _LOGIN = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_LENGTHS = {_IPV4: 4, _IPV6: 16}
_SOCKS_SAYS = {
    1: "it failed",
    2: "its rules forbid it",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "it took too long",
    7: "it cannot connect",
    8: "it does not know this kind of address",
}


def through(raw: socket.socket, proxy: Proxy, server: Server, deadline: float) -> None:
    """From here on what is sent to this socket comes to the server."""
    try:
        if proxy.is_socks:
            _socks(raw, proxy, server, deadline)
        else:
            _connect(raw, proxy, server, deadline)
    except OSError as error:
        raise Unreachable(f"no answer from {_name(proxy)}: {why(error)}") from error


def left(deadline: float) -> float:
    """Seconds until then; an error when it is past."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise Unreachable("no connection in time")
    return seconds


def why(error: Exception) -> str:
    """In a few words."""
    if isinstance(error, TimeoutError):
        return "timed out"
    return getattr(error, "strerror", None) or str(error)


def _name(proxy: Proxy) -> str:
    return f"proxy {proxy.host} port {proxy.port}"


# --- CONNECT ---


def _connect(raw: socket.socket, proxy: Proxy, server: Server, deadline: float) -> None:
    lines = [f"CONNECT {server.authority} HTTP/1.1", f"Host: {server.authority}"]
    if proxy.username:
        login = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {login}")
    raw.settimeout(left(deadline))
    raw.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
    status = _status_line(raw, deadline)
    if status.split(" ")[1:2] != ["200"]:
        raise Unreachable(f"{_name(proxy)} refuses {server.authority}: {cut(status, 200)}")


def _status_line(raw: socket.socket, deadline: float) -> str:
    """Read the head of the proxy's answer, and not a byte of what follows it."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        if len(head) >= _ANSWER_LIMIT:
            raise OSError("it closed the connection or sent no HTTP")
        head += _exactly(raw, 1, deadline)
    return head.split(b"\r\n", 1)[0].decode("latin-1")


# --- SOCKS 5: RFC 1928, and 1929 for the login ---


def _socks(raw: socket.socket, proxy: Proxy, server: Server, deadline: float) -> None:
    methods = bytes([_NO_LOGIN, _LOGIN] if proxy.username else [_NO_LOGIN])
    raw.settimeout(left(deadline))
    raw.sendall(bytes([5, len(methods)]) + methods)
    version, method = _exactly(raw, 2, deadline)
    if version != 5:
        raise OSError("it does not speak SOCKS 5")
    if method == _LOGIN and proxy.username:
        _log_in(raw, proxy, deadline)
    elif method != _NO_LOGIN:
        raise Unreachable(f"{_name(proxy)} refuses us: it wants another login")
    raw.sendall(b"\x05\x01\x00" + _address(server.host) + server.port.to_bytes(2, "big"))
    _, answer, _, kind = _exactly(raw, 4, deadline)
    if answer:
        said = _SOCKS_SAYS.get(answer, f"answer {answer}")
        raise Unreachable(f"{_name(proxy)} refuses {server.authority}: {said}")
    # the address that it connects from, which nobody needs, and its port
    length = _LENGTHS[kind] if kind in _LENGTHS else _exactly(raw, 1, deadline)[0]
    _exactly(raw, length + 2, deadline)


def _log_in(raw: socket.socket, proxy: Proxy, deadline: float) -> None:
    name, password = proxy.username.encode(), proxy.password.encode()
    if max(len(name), len(password)) > 255:
        raise Unreachable(f"{_name(proxy)}: name or password is longer than 255 bytes")
    raw.sendall(bytes([1, len(name)]) + name + bytes([len(password)]) + password)
    if _exactly(raw, 2, deadline)[1]:
        raise Unreachable(f"{_name(proxy)} refuses us: the login is wrong")


def _address(host: str) -> bytes:
    try:
        packed = ipaddress.ip_address(host).packed
    except ValueError:
        name = host.encode("idna")
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if len(packed) == 4 else _IPV6]) + packed


def _exactly(raw: socket.socket, many: int, deadline: float) -> bytes:
    data = b""
    while len(data) < many:
        raw.settimeout(left(deadline))
        more = raw.recv(many - len(data))
        if not more:
            raise OSError("it closed the connection")
        data += more
    return data
