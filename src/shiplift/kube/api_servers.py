"""Every API server by itself: several stand behind one address, and each goes by what it has seen so far.

They write their own addresses into the EndpointSlice `default/kubernetes`. Where there is but one, the
client's own address is all there is to ask; and so it is where servers need not prove who they are: a token
is not sent to whatever address stands there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec
import structlog

from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError, NotFound

log = structlog.get_logger(__name__)

ENDPOINT_SLICE = Kind("EndpointSlice", "endpointslices", "discovery.k8s.io")
NAME, NAMESPACE = "kubernetes", "default"
TLS_NAME = "kubernetes.default.svc"
"""In the certificate of every API server, whatever address it is reached by."""
_ASK_SECONDS = 1.0
_KNOWN_SECONDS = 2.0

_NEVER = float("-inf")
_NAMES = ("https", "", None)

Address = tuple[str, int]


class _Conditions(msgspec.Struct, frozen=True):
    ready: bool | None = None


class _Endpoint(msgspec.Struct, frozen=True):
    addresses: list[str]
    conditions: _Conditions = _Conditions()


class _Port(msgspec.Struct, frozen=True):
    port: int
    name: str | None = None


class _EndpointSlice(msgspec.Struct, frozen=True):
    ports: list[_Port] | None = None
    endpoints: list[_Endpoint] | None = None


class ApiServers:
    """Clients for each API server, with the identity of the one given; safe to use from many threads."""

    def __init__(
        self,
        client: Client,
        addresses: Callable[[Client], tuple[Address, ...]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._addresses = addresses or read_addresses
        self._clock = clock
        self._reading = threading.Lock()
        self._clients: dict[Address, Client] = {}
        self._read_at = _NEVER

    def each(self) -> tuple[Client, ...]:
        """One client for each server; where there is but one, the client itself."""
        with self._reading:
            if self._clock() >= self._read_at + _KNOWN_SECONDS:
                self._read()
            return tuple(self._clients.values()) or (self._client,)

    def _read(self) -> None:
        """Where they are now; where that fails those known are asked, and the first time it is an error."""
        if not self._client.credentials.verifies:
            return
        try:
            self._meet(self._addresses(self._client))
        except Forbidden as error:
            log.warning("may not read where the API servers are: one is asked for all", reason=str(error))
        except KubeError:
            if self._read_at == _NEVER:
                raise
        self._read_at = self._clock()

    def close(self) -> None:
        """Close all connections that were made here."""
        with self._reading:
            for one in self._clients.values():
                one.close()
            self._clients = {}

    def _meet(self, found: tuple[Address, ...]) -> None:
        wanted = set(found) if len(set(found)) > 1 else set[Address]()
        # a client that somebody asks at this moment must not be closed: it closes when nobody has it any more
        self._clients = {address: one for address, one in self._clients.items() if address in wanted}
        for host, port in sorted(wanted - self._clients.keys()):
            credentials = self._client.credentials.at(host, port, TLS_NAME)
            self._clients[host, port] = Client(credentials, self._client.field_manager, _ASK_SECONDS)


def read_addresses(client: Client) -> tuple[Address, ...]:
    """Where the API servers say that they are; nowhere, if they do not say it."""
    try:
        found = msgspec.convert(client.get(ENDPOINT_SLICE, NAME, NAMESPACE), _EndpointSlice)
    except (NotFound, msgspec.ValidationError):
        return ()
    ports = [one.port for one in found.ports or () if one.name in _NAMES]
    ready = [one for one in found.endpoints or () if one.conditions.ready is not False]
    return tuple(sorted((host, ports[0]) for one in ready for host in one.addresses)) if ports else ()
