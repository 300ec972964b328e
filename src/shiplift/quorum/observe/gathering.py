"""A view, made of what was read, what was heard and what is remembered; nothing is asked here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from shiplift.api.quorum import QuorumServiceSpec
from shiplift.engine.step import Outcomes, Started
from shiplift.quorum.decide.scene import Scene
from shiplift.quorum.engines.protocol import Engine
from shiplift.quorum.memory import Memory
from shiplift.quorum.model import Candidate, Line, Member, Pool, Validity, View, Wanted
from shiplift.quorum.names import Record
from shiplift.quorum.observe.members import Heard, Json, Place, members
from shiplift.quorum.observe.order import ordered
from shiplift.quorum.observe.pools import pool_of
from shiplift.quorum.records import known
from shiplift.quorum.validating import trust_of


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
    held: str = ""
    """Why the conductor of an upgrade holds it: nothing is begun, and what is under way goes on."""
    switch_time: datetime | None = None
    upgrading: str = ""
    """The version that the cluster is being upgraded to."""
    switches: int | None = None
    """How often servers were told to switch in the swap that is under way; None where nobody counted."""
    recalled: Candidate | None = None
    """The image that it was left at rest with, by a leader of before perhaps."""
    swapping: Mapping[str, Record] = {}
    """What its status has of StatefulSets that are being swapped, by uid."""
    generation: int = 0
    elder: str = ""
    """An older service that names one of its StatefulSets."""
    others: frozenset[str] | None = None
    """The services that there are beside it."""


def wanted(spec: QuorumServiceSpec) -> Wanted:
    return Wanted(
        spec.image,
        spec.strategy,
        spec.on_unsupported,
        spec.allow_downgrade,
        spec.minimum_version or "",
        spec.trust.minisign_key or "",
        spec.paused,
        container=spec.container,
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
    pools = tuple(_pool(service, memory, live) for live in read.sets)
    found = tuple(members(read.sets, read.pods, heard, place))
    candidate = memory.candidate(_image(service, pools), trust_of(spec))
    recalled = service.recalled.version if service.recalled else ""
    versions = (candidate.version, recalled, spec.minimum_version or "", *_versions(pools, found))
    view = View(
        service.name,
        wanted(spec),
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
        _upgrading(service),
        service.switch_time,
        service.switches,
        memory.changes_under(service.generation),
        service.elder,
        service.others,
    )
    return _at_rest(service, view) or view


def _at_rest(service: Recorded, view: View) -> View | None:
    """The view with what is known from before, where that says that nothing is to be done: nothing is pulled
    for it, whoever leads."""
    if service.recalled is None or view.candidate.validity is not Validity.UNKNOWN:
        return None
    found = msgspec.structs.replace(view, candidate=service.recalled)
    scene = Scene(found)
    return found if scene.swap is None and scene.is_at_target else None


def _pool(service: Recorded, memory: Memory, live: Json) -> Pool:
    """What is known of its swap is remembered: it may be stripped before the status has it."""
    uid = live["metadata"]["uid"]
    record = known(service.name, live, service.swapping, memory.records)
    if record is not None:
        memory.records[uid] = record
    return pool_of(live, service.spec.container, record, recorded=uid in service.swapping)


def _upgrading(service: Recorded) -> str:
    """Why the upgrade of the cluster comes first, in words."""
    if service.held:
        return f"held by the upgrade of the cluster ({service.held})"
    return f"the cluster is being upgraded to {service.upgrading}" if service.upgrading else ""


def _image(service: Recorded, pools: Sequence[Pool]) -> str:
    swaps = (pool.swap for pool in pools)
    own = next((swap for swap in swaps if swap and swap.service == service.name), None)
    return own.image if own else service.spec.image


def _versions(pools: Sequence[Pool], found: Sequence[Member]) -> Iterator[str]:
    yield from (pool.swap.target for pool in pools if pool.swap)
    yield from (member.told.version for member in found if member.told)
