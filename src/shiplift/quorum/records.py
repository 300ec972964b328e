"""What is known of a swap on each StatefulSet: as it is written there, as the status of the service has it,
or as it is remembered. Pure.

Whoever can write to a StatefulSet can take the annotation off. The status of the service has the same, by the
uid of the StatefulSet, and outlives who leads. It is written once the annotation is seen, and taken out
before the annotation is: what a status still has was not ended by us.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shiplift.api.quorum import Swapping
from shiplift.quorum.model import Pool
from shiplift.quorum.names import SWAP, Before, Record

Json = dict[str, Any]


def written_on(live: Json) -> Record | None:
    """None where nothing is on the StatefulSet that can be read."""
    annotations: dict[str, str] = live["metadata"].get("annotations") or {}
    text = annotations.get(SWAP)
    return None if text is None else Record.read(text)


def in_status(service: str, swapping: Iterable[Swapping]) -> dict[str, Record]:
    """By the uid of the StatefulSet."""
    return {one.uid: _record(service, one) for one in swapping}


def known(service: str, live: Json, *elsewhere: Mapping[str, Record]) -> Record | None:
    """Of a swap by this service: what is written on the StatefulSet, else what is known from elsewhere. What
    another service has written there counts alone."""
    written = written_on(live)
    if written is not None:
        return written if written.service == service else None
    uid = live["metadata"]["uid"]
    return next((records[uid] for records in elsewhere if uid in records), None)


def told(pools: Iterable[Pool], service: str) -> Iterator[Swapping]:
    """What the status has to have of the StatefulSets that this service swaps."""
    for pool in pools:
        swap = pool.swap
        if swap is None or swap.service != service:
            continue
        yield Swapping(
            stateful_set=pool.name,
            uid=pool.uid,
            target=swap.target,
            image=swap.image,
            container=swap.container,
            image_before=swap.before,
            strategy_before=dict(swap.strategy),
            recreate=swap.recreate,
        )


def _record(service: str, one: Swapping) -> Record:
    before = Before(one.image_before, one.strategy_before)
    return Record(service, one.target, one.image, one.container, before, one.recreate)
