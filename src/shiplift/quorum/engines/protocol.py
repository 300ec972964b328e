"""What the layer asks of an engine, and the values in which every engine answers.

An engine speaks to servers and remembers nothing. It answers in plain values and never raises for what a
server says or does not say: no answer is `Silent`, a call whose answer was lost is `Lost` (it may have
happened), so whoever decides has to look at each.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import msgspec

from shiplift.engine.probes import Truth


class Server(msgspec.Struct, frozen=True):
    """One member as it is reached, and as the service itself names it."""

    name: str
    """The pod's."""
    address: str
    """The pod's."""
    port: int
    host: str
    """How its name begins in what the service says: the rest, the cluster's domain, only the pods know."""

    def owns(self, endpoint: str) -> bool:
        """Whether the service means this server by `host:port`."""
        host, _, port = endpoint.rpartition(":")
        return port == str(self.port) and (host == self.host or host.startswith(f"{self.host}."))


class Told(msgspec.Struct, frozen=True):
    """What a server says of itself, and whom it knows."""

    version: str
    """In the engine's own words."""
    serving: bool
    """It has started, and takes requests."""
    processors: int
    """How many it uses; 0 where it does not say."""
    endpoints: tuple[str, ...]
    """`host:port` of all servers of the service, itself among them."""
    settings: tuple[tuple[str, str], ...] = ()
    """What it was started with that matters to a swap; never a secret."""


class Silent(msgspec.Struct, frozen=True):
    """A server that gave no answer that says anything."""

    why: str
    misnamed: bool = False
    """It does answer, and knows itself by another name: waiting does not help."""


class Verdict(Enum):
    """What one host did with what it was sent."""

    DONE = "done"
    AT_TARGET = "it runs that version, or a newer one"
    GARBLED = "it garbled a good file; once more is worth it"
    NOT_FETCHED = "it could not fetch the signature"
    UNREACHABLE = "the others could not reach it"
    BUSY = "another update is under way"
    READ_ONLY = "it cannot write beside its binary"
    HUNG = "drives of it hang: it would take the binary and not restart"
    NOT_TRUSTED = "it does not trust the signature"
    FAILED = "it failed"


class HostAnswer(msgspec.Struct, frozen=True):
    """What became of one host, as the server that was asked says."""

    endpoint: str
    verdict: Verdict
    message: str = ""


class Answered(msgspec.Struct, frozen=True):
    """A call that was carried out, host by host."""

    hosts: tuple[HostAnswer, ...]


class Why(Enum):
    """Why a call was not carried out."""

    SWITCHED_OFF = "in-place updates are switched off"
    STARTING = "the server is starting"
    NO_ARTIFACT = "the server cannot fetch the binary"
    DENIED = "the credentials do not do"
    FAILED = "the server failed"


class Refused(msgspec.Struct, frozen=True):
    """A call that changed nothing anywhere."""

    why: Why
    message: str


class Lost(msgspec.Struct, frozen=True):
    """A call that was sent, and whose answer did not come: it may have been carried out."""

    why: str


Reply = Answered | Refused | Lost


class Canary(msgspec.Struct, frozen=True):
    """An object was written, read and deleted through one server; empty where that went well."""

    server: str
    trouble: str = ""

    @property
    def sings(self) -> bool:
        return not self.trouble


class Stop(msgspec.Struct, frozen=True):
    """Whether a server may go down now, as it says itself."""

    may: Truth
    message: str = ""


class Engine(Protocol):
    """One kind of service."""

    @property
    def program(self) -> str:
        """The name of its binary."""
        ...

    @property
    def publisher(self) -> str:
        """The minisign key of who publishes it."""
        ...

    def said_version(self, output: str) -> str:
        """The version in what the binary answers to `--version`; ValueError where there is none."""
        ...

    def newer(self, version: str, than: str) -> bool:
        """Whether one version is newer than another; ValueError for what is no version."""
        ...

    def stages(self, version: str) -> bool:
        """Whether servers of that version can be given a binary without switching to it."""
        ...

    def ask(self, server: Server) -> Told | Silent:
        """What the server says of itself."""
        ...

    def stage(self, through: Server, url: str) -> Reply:
        """Have every server fetch and check the binary, and change nothing; through one that runs the old
        version. Endpoints of servers that were not meant are for the caller to notice."""
        ...

    def switch(self, through: Server, url: str) -> Reply:
        """Have every server fetch the binary and restart with it; through one that runs the old version."""
        ...

    def may_stop(self, server: Server) -> Stop:
        """Whether the service keeps working without the server."""
        ...

    def canary(self, servers: Sequence[Server], bucket: str | None) -> tuple[Canary, ...]:
        """Write, read and delete through each server; in a bucket that is made for it where none is named."""
        ...
