"""All that an operator talks through, each with a fault proxy in front.

The door to the API server holds the operator's own credentials, so that RBAC and fence apply as they would
without it. Doors to providers and into the operator stay open, on the same port, as long as the lane lives:
a URL may be part of an object that is put back for each run. What is behind them changes from run to run.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shiplift.kube.credentials import Credentials
from shiplift.local import pki
from shiplift.local.ports import free_ports
from tests.crash.calls import Call, recognise, recognise_beside, recognise_http
from tests.crash.outside import Listener, Outside
from tests.crash.proxy import Director, Proxy

CERTIFICATES = "certificates"
"""The folder, in that of the lane, of who vouches for those outside."""


class ApiServer:
    """The door to the API server, with the credentials of an operator, or of a program beside it."""

    def __init__(self, credentials: Credentials, beside: str = "") -> None:
        self._credentials, self._beside = credentials, beside

    def open(self, timeout: float) -> socket.socket:
        return self._credentials.open(timeout)

    def headers(self) -> Iterable[tuple[str, str]]:
        return [("host", self._credentials.server.authority), *self._credentials.headers()]

    def recognise(self, method: str, target: str, body: bytes) -> Call:
        if self._beside:
            return recognise_beside(self._beside, method, target, body)
        return recognise(method, target, body)


class Web:
    """The door to somebody else who speaks HTTP: a provider, or the operator itself."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self.address = ""
        """`host:port` of who is there now; nobody where it is empty."""

    def open(self, timeout: float) -> socket.socket:
        host, _, port = self.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout)

    def headers(self) -> Iterable[tuple[str, str]]:
        return [("host", self.address)]

    def recognise(self, method: str, target: str, body: bytes) -> Call:
        own, name = self._outside.recognise, self._outside.name
        call = own(method, target, body) if own else recognise_http(name, method, target)
        return msgspec.structs.replace(call, outside=name, inward=isinstance(self._outside, Listener))


class Doors:
    """The doors of a lane; those of the scenario that runs are the ones in use."""

    def __init__(self, director: Director, folder: Path) -> None:
        self._director = director
        self._certificates = folder / CERTIFICATES
        self._api: Proxy | None = None
        self._beside: dict[str, Proxy] = {}
        self._webs: dict[str, tuple[Outside, Web, Proxy]] = {}
        self._used: tuple[str, ...] = ()

    def use(self, outside: Iterable[Outside]) -> None:
        """From now on those; each is opened once."""
        given = list(outside)
        for one in given:
            if one.name not in self._webs:
                web = Web(one)
                self._webs[one.name] = (one, web, Proxy(web, self._director, self._tls(one)))
        self._used = tuple(one.name for one in given)

    def _tls(self, outside: Outside) -> ssl.SSLContext | None:
        if not outside.trust:
            return None
        if not self._certificates.exists():
            pki.write_all(self._certificates)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificates / "server.crt", self._certificates / "server.key")
        return context

    def lead_to_api(self, credentials: Credentials) -> None:
        """As whom the operator comes to the API server from now on."""
        if self._api:
            self._api.close()
        self._api = Proxy(ApiServer(credentials), self._director)

    def lead_beside(self, companions: Mapping[str, Credentials]) -> None:
        """As whom the programs beside the operator come to the API server, by their names."""
        for proxy in self._beside.values():
            proxy.close()
        self._beside = {
            name: Proxy(ApiServer(credentials, name), self._director)
            for name, credentials in companions.items()
        }

    def lead_to(self, upstreams: Mapping[str, str]) -> None:
        """Who is behind the doors in the run that begins."""
        for name, address in upstreams.items():
            self._webs[name][1].address = address

    def url(self, name: str) -> str:
        """Where the others, or the operator, find that one."""
        return self._webs[name][2].address

    def environment(self) -> dict[str, str]:
        """For an operator that is about to start: where to go and, for each its own, where to listen."""
        found: dict[str, str] = {}
        for outside, web, proxy in (self._webs[name] for name in self._used):
            if isinstance(outside, Listener):
                web.address = found[outside.variable] = f"127.0.0.1:{free_ports(1)[0]}"
            else:
                found[outside.variable] = proxy.address
            if outside.trust:
                found[outside.trust] = str(self._certificates / "ca.crt")
        return found

    def kubeconfig(self, path: Path, beside: str = "") -> Path:
        """For an operator, or for the program of that name beside it."""
        proxy = self._beside[beside] if beside else self._api
        assert proxy
        return kubeconfig(proxy, path)

    def hang_up(self, beside: str = "") -> None:
        """On operators and on who calls them, or on the program of that name beside them."""
        for proxy in [self._beside[beside]] if beside else self._of_operators():
            proxy.hang_up()

    def away(self, seconds: float) -> None:
        """The API server is away for so long."""
        for proxy in (*([self._api] if self._api else []), *self._beside.values()):
            proxy.away(seconds)

    def close(self) -> None:
        for proxy in (*self._of_operators(), *self._beside.values()):
            proxy.close()
        self._api, self._webs, self._beside = None, {}, {}

    def _of_operators(self) -> list[Proxy]:
        return [*([self._api] if self._api else []), *(proxy for _, _, proxy in self._webs.values())]


def kubeconfig(proxy: Proxy, path: Path) -> Path:
    """For a client that is to go through that proxy."""
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": proxy.address}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
        "current-context": "proxy",
    }
    path.write_text(yaml.safe_dump(config))
    return path
