"""Objects of the upgrade that are being deleted and are still there: what keeps each of them is told. Its own
layer gives back what it has changed first, and says how far that is; a finalizer of somebody else, or a layer
that nobody runs, is somebody's to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.api.nodes import NodeRollout
from shiplift.api.values import ConditionStatus, Status
from shiplift.api.workloads import WorkloadMigration
from shiplift.upgrade.decide.course import LAYERS_LOOK
from shiplift.upgrade.model import Line
from shiplift.upgrade.names import MIGRATION

_OUR_DOMAIN = "shiplift.dev"
_A_MOMENT = timedelta(minutes=1)
"""So long a finalizer of somebody else may keep an object: many take theirs off by themselves."""


class Kept(NamedTuple):
    """What keeps an object from going."""

    text: str
    stalled: bool = False
    """Only somebody can help."""


def kept(
    now: datetime, rollouts: Iterable[NodeRollout], migration: WorkloadMigration | None = None
) -> Kept | None:
    """What keeps those of them that are being deleted: what needs somebody comes first; None where nothing
    does."""
    found = list(_each(now, rollouts))
    found += _migration(now, migration) if migration is not None else ()
    return next((one for one in found if one.stalled), found[0] if found else None)


def told(line: Line, why: Kept | None) -> Line:
    """A line with what keeps an object."""
    if why is None:
        return line
    return line._replace(message=f"{line.message}; {why.text}", stalled=line.stalled or why.stalled)


def _each(now: datetime, rollouts: Iterable[NodeRollout]) -> Iterator[Kept]:
    for one in rollouts:
        yield from _of(now, one, f"NodeRollout {one.metadata.name}", "nodes", one.status)


def _migration(now: datetime, one: WorkloadMigration) -> Iterator[Kept]:
    return _of(now, one, f"WorkloadMigration {MIGRATION}", "workloads", one.status)


def _of(
    now: datetime, one: NodeRollout | WorkloadMigration, named: str, layer: str, status: Status
) -> Iterator[Kept]:
    about = one.metadata
    if about.deletion_timestamp is None:
        return
    waited = now - about.deletion_timestamp
    foreign = [name for name in about.finalizers if not _is_ours(name)]
    if len(foreign) < len(about.finalizers):
        yield _by_its_layer(one, named, layer, status, silent=waited >= LAYERS_LOOK)
    elif foreign:
        text = f"finalizer {foreign[0]} of somebody else keeps {named} from going: they have to take it off"
        yield Kept(text, stalled=waited >= _A_MOMENT)


def _is_ours(finalizer: str) -> bool:
    domain = finalizer.partition("/")[0]
    return domain == _OUR_DOMAIN or domain.endswith(f".{_OUR_DOMAIN}")


def _by_its_layer(
    one: NodeRollout | WorkloadMigration, named: str, layer: str, status: Status, *, silent: bool
) -> Kept:
    """The API server raises the generation with the deletion: who has not seen that is not there."""
    if status.observed_generation < one.metadata.generation:
        return Kept(f"{named} is being deleted: an operator with the layer {layer} has to run", silent)
    stalled = any(
        each.type == "Stalled" and each.status is ConditionStatus.TRUE for each in status.conditions
    )
    return Kept(f"{named}: {one.status.message}", stalled)
