"""A layer as the operator takes it in: what it works with, what it reads, what wakes it, how it is made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec
from prometheus_client.registry import Collector

from shiplift.engine.layer import Layer
from shiplift.engine.probes import NobodyAsks, Probing
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import Client
from shiplift.kube.events import Recorder
from shiplift.kube.store import Store
from shiplift.kube.succession import NOBODY, Succession
from shiplift.kube.watch import Watch

Keys = Callable[[Kind, Row | None, Row | None], Iterable[Hashable]]


def _nobody(_: Hashable) -> None:
    pass


class Context(msgspec.Struct, frozen=True):
    """What a layer works with, for one term of leading."""

    client: Client
    store: Store
    recorder: Recorder
    epoch: int
    kept: dict[str, Any] = {}
    """What the layer keeps from one term of this process to the next."""
    namespace: str = ""
    """The operator's own."""
    wake: Callable[[Hashable], None] = _nobody
    """Look at that key of this layer soon; from any thread, and nothing after the term."""
    probing: Probing = NobodyAsks()
    """Who asks this layer's questions outside the API server."""
    succession: Succession = NOBODY
    """Which pod we run in, and how another is let lead before it goes."""


@runtime_checkable
class Hearing(Protocol):
    """A layer that keeps sums: it hears of every change while it runs, before it is woken by it."""

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """On the reader's thread: note it, and return."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A layer that has something to write when its term ends in order, after its last step."""

    def close(self) -> None:
        """While we still lead; whatever goes wrong is logged and ends nothing."""
        ...


@runtime_checkable
class LettingGo(Protocol):
    """A layer that holds something open, such as a listener, which ends with its term."""

    def let_go(self) -> None:
        """However the term ends, after its last step."""
        ...


class Listens(msgspec.Struct, frozen=True):
    """A port that a layer answers on, where the operator runs inside the cluster."""

    name: str
    """As a port of a Service is called: up to 15 lower-case letters, digits and dashes."""
    port: int


class Reaches(msgspec.Struct, frozen=True):
    """Ports outside the API server that a layer calls, where the operator runs inside the cluster."""

    ports: tuple[int, ...]
    why: str
    """What is there, in words."""


class LayerPart(msgspec.Struct, frozen=True):
    """One layer: what it reads, what wakes it, what it may write, how it is made."""

    name: str
    watches: tuple[Watch, ...]
    wakes: Keys
    """The keys to look at after a change; every row is shown once when leading begins."""
    make: Callable[[Context], Layer[Any, Any, Any]]
    rules: tuple[Mapping[str, Any], ...] = ()
    """The RBAC of its writes and of what it reads besides `watches`, which it lists and watches."""
    template_rules: tuple[Mapping[str, Any], ...] = ()
    """What it may do besides where an administrator lets it change the pod templates of workloads."""
    manifests: tuple[Mapping[str, Any], ...] = ()
    """What an administrator installs for it, such as admission policies."""
    without_manifests: str = ""
    """What cannot work where a server does not know all of `manifests`, and what to do there instead."""
    collector: Callable[[Store], Collector] | None = None
    """Its own metrics, read at each scrape."""
    undone_without: tuple[Kind, ...] = ()
    """What it watches and can do without where all is undone."""
    rules_in: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    """By namespace: what it may do there, besides."""
    granted_rules: tuple[Mapping[str, Any], ...] = ()
    """What it may do where an administrator grants it, namespace by namespace; it is fenced everywhere."""
    claims: str = ""
    """The name of the ConfigMap of the operator's own namespace that holds its claims; empty without any."""
    keeps: tuple[str, ...] = ()
    """The names of other ConfigMaps of the operator's own namespace that it keeps something in."""
    near_rules: tuple[Mapping[str, Any], ...] = ()
    """What it may do in the operator's own namespace, besides."""
    always: tuple[Hashable, ...] = ()
    """Keys to look at when leading begins, whatever there is in the cluster."""
    of_others: tuple[Kind, ...] = ()
    """The kinds of other layers that it reads: where only these are installed, it is not."""
    written_by_people: tuple[Kind, ...] = ()
    """The kinds of its own that people write, and not the operator alone."""
    listens: tuple[Listens, ...] = ()
    """What it answers on, besides metrics and probes."""
    reaches: tuple[Reaches, ...] = ()
    """What it calls that is not the API server."""
    scratch: str = ""
    """So much it keeps in temporary files at most, as Kubernetes writes quantities; empty: it writes none."""

    @property
    def custom_kinds(self) -> tuple[Kind, ...]:
        """The kinds of ours that it works with: their CRDs have to be there before it starts."""
        return tuple(sorted({watch.kind for watch in self.watches if watch.kind.custom}))

    @property
    def own_kinds(self) -> tuple[Kind, ...]:
        """Those of them that are its own."""
        return tuple(kind for kind in self.custom_kinds if kind not in self.of_others)
