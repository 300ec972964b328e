"""A view, made of what was read, what was heard and what is remembered; nothing is asked here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from shiplift.api.quorum import QuorumServiceSpec
from shiplift.engine.step import Outcomes, Started
from shiplift.quorum.engines.protocol import Engine
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Line, Member, Pool, View, Wanted
from shiplift.quorum.observe.members import Heard, Json, Place, members
from shiplift.quorum.observe.order import ordered
from shiplift.quorum.observe.pools import pool_of


class Read(msgspec.Struct, frozen=True):
    """What the API server has."""

    sets: Sequence[Json]
    """Of those that are named, those that are there; in the order in which they are named."""
    pods: Mapping[str, Json]
    """By name."""


class Recorded(msgspec.Struct, frozen=True):
    """What the service's own object has on record."""

    name: str
    spec: QuorumServiceSpec
    operation: Started | None = None
    given_up: str = ""
    deleting: bool = False
    uid: str = ""
    kept: bool = True
    """Whether it has our finalizer."""
    held: bool = False
    """Whether the conductor of an upgrade holds it: it counts as a pause."""
    upgrading: str = ""
    """The version that the cluster is being upgraded to."""


def wanted(spec: QuorumServiceSpec, *, held: bool = False) -> Wanted:
    return Wanted(
        spec.image,
        spec.strategy,
        spec.on_unsupported,
        spec.allow_downgrade,
        spec.minimum_version or "",
        spec.trust.minisign_key or "",
        spec.paused or held,
    )


def view_of(  # noqa: PLR0913, PLR0917 - all that there is to know
    service: Recorded,
    read: Read,
    heard: Mapping[str, Heard],
    memory: Memory,
    engine: Engine,
    place: Place,
    outcomes: Outcomes,
    obstacle: Line | None = None,
) -> View:
    """All that the next decision depends on."""
    spec = service.spec
    pools = tuple(pool_of(live, spec.container) for live in read.sets)
    found = tuple(members(read.sets, read.pods, heard, place))
    candidate = memory.candidate(_image(service, pools))
    versions = (candidate.version, spec.minimum_version or "", *_versions(pools, found))
    return View(
        service.name,
        wanted(spec, held=service.held),
        pools,
        tuple(name for name in spec.stateful_sets if name not in {pool.name for pool in pools}),
        found,
        candidate,
        ordered(engine, versions),
        service.operation,
        memory.staged,
        service.given_up,
        service.deleting,
        outcomes,
        memory.rehearsed,
        obstacle,
        service.uid,
        service.kept,
        service.upgrading,
        dict(memory.changes.changes),
    )


def _image(service: Recorded, pools: Sequence[Pool]) -> str:
    swaps = (pool.swap for pool in pools)
    own = next((swap for swap in swaps if swap and swap.service == service.name), None)
    return own.image if own else service.spec.image


def _versions(pools: Sequence[Pool], found: Sequence[Member]) -> Iterator[str]:
    yield from (pool.swap.target for pool in pools if pool.swap)
    yield from (member.told.version for member in found if member.told)
