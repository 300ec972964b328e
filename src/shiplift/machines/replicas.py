"""Which machines a pool has: those that are there stay, others come in order, the rest is too many. Pure.

Whoever leads a pool, laptop or cluster, goes by this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple


class Choice(NamedTuple):
    """By name: the machines to be, and those that are there and are too many."""

    machines: tuple[str, ...]
    too_many: tuple[str, ...]


def choose(taken: Sequence[str], free: Iterable[str], replicas: int) -> Choice:
    """`taken`: those that are there, those that stay longest first."""
    kept = taken[:replicas]
    return Choice((*kept, *islice(free, replicas - len(kept))), tuple(taken[replicas:]))
