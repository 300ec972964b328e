"""How the versions in a view compare, asked of the engine once for each view."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key

from shiplift.quorum.engines.protocol import Engine
from shiplift.quorum.model import Order


def ordered(engine: Engine, versions: Iterable[str]) -> Order:
    """Of those that are versions to the engine; the others compare with nothing."""
    known = sorted({one for one in versions if _is_version(engine, one)})
    by_age = sorted(known, key=cmp_to_key(lambda one, other: _compared(engine, one, other)))
    ranks: dict[str, int] = {}
    for at, version in enumerate(by_age):
        same = at > 0 and not _compared(engine, by_age[at - 1], version)
        ranks[version] = ranks[by_age[at - 1]] if same else at
    return Order(ranks, frozenset(one for one in known if engine.stages(one)), engine.publisher)


def _is_version(engine: Engine, text: str) -> bool:
    try:
        engine.newer(text, than=text)
    except ValueError:
        return False
    return True


def _compared(engine: Engine, one: str, other: str) -> int:
    return int(engine.newer(one, than=other)) - int(engine.newer(other, than=one))
