"""A connection to a host outside: straight to an address that was judged, or through the proxy that the
environment names, which then looks the name up itself."""

from __future__ import annotations

import contextlib
import ipaddress
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence

from shiplift.kube.credentials.address import Proxy, Server
from shiplift.kube.credentials.connect import connect
from shiplift.kube.credentials.environment import proxy_for
from shiplift.kube.credentials.tls import of_proxy
from shiplift.kube.errors import KubeError
from shiplift.outside.addresses import Address, Network, may_reach
from shiplift.outside.errors import Refused, Unreachable

Resolve = Callable[[str], Sequence[str]]
"""All addresses of a name."""


def addresses_of(name: str) -> Sequence[str]:
    """As this computer finds them."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class Opener:
    """Opens connections, each to an address that may be reached at that very moment."""

    def __init__(self, allowed: tuple[Network, ...], resolve: Resolve = addresses_of) -> None:
        self._allowed, self._resolve = allowed, resolve

    def open(self, server: Server, tls: ssl.SSLContext | None, deadline: float) -> socket.socket:
        """A connected socket, TLS done."""
        proxy = _proxy(server)
        if proxy is not None:
            self._judge_literal(server.host)
            return _connected(server, proxy, tls, deadline)
        last: Unreachable | None = None
        for address in self._judged(server.host, deadline):
            try:
                return _connected(_at(server, address), None, tls, deadline)
            except Unreachable as error:
                last = error
        raise last or Unreachable(f"{server.host} has no address")

    def _judged(self, host: str, deadline: float) -> list[Address]:
        found = [ipaddress.ip_address(one) for one in self._looked_up(host, deadline)]
        reached = [one for one in found if may_reach(one, self._allowed)]
        if found and not reached:
            raise _private(host, found[0])
        return reached

    def _judge_literal(self, host: str) -> None:
        """What is behind a proxy is the proxy's to judge, but an address that is said outright is ours."""
        with contextlib.suppress(ValueError):
            address = ipaddress.ip_address(host)
            if not may_reach(address, self._allowed):
                raise _private(host, address)

    def _looked_up(self, host: str, deadline: float) -> Sequence[str]:
        """On a thread that is left behind where it takes too long: nobody can interrupt it."""
        with contextlib.suppress(ValueError):
            return [str(ipaddress.ip_address(host))]
        answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()
        threading.Thread(target=self._look_up, args=(host, answers), name="resolve", daemon=True).start()
        try:
            answer = answers.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            raise Unreachable(f"{host} was not found in time") from None
        if isinstance(answer, Exception):
            raise Unreachable(f"{host} is not found: {answer}") from None
        return answer

    def _look_up(self, host: str, answers: queue.SimpleQueue[Sequence[str] | Exception]) -> None:
        try:
            answers.put(self._resolve(host))
        except (OSError, UnicodeError) as error:
            answers.put(error)


def _private(host: str, address: Address) -> Refused:
    words = f"{host} is at {address}" if host != str(address) else f"{host} is"
    return Refused(
        f"{words}, a private address",
        hint="name its network in `reach.private` where it is meant to be reached",
    )


def _at(server: Server, address: Address) -> Server:
    return Server(server.scheme, str(address), server.port, tls_name=server.host)


def _proxy(server: Server) -> Proxy | None:
    try:
        return proxy_for(server)
    except KubeError as error:
        raise Refused(error.message, hint=error.hint) from None


def _connected(
    server: Server, proxy: Proxy | None, tls: ssl.SSLContext | None, deadline: float
) -> socket.socket:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Unreachable("no connection in time")
    proxy_tls = of_proxy(b"", verify=True) if proxy is not None and proxy.scheme == "https" else None
    try:
        return connect(server, proxy, tls, left, proxy_tls)
    except KubeError as error:
        hint = "its authority goes into `reach.authority`" if "not trusted" in error.message else ""
        raise Unreachable(error.message, hint=hint) from None
