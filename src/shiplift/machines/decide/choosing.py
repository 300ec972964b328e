"""Which hosts are the machines of a pool: those that were taken, then others in the order of the file.

A host that does not answer is chosen last: it is named, and nobody waits for it where another can serve. One
that may have been taken by an earlier run keeps its place, until it is known that it was not.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from shiplift.api.machines import MachinePool
from shiplift.machines import replicas
from shiplift.machines.decide.founding import exists, patient
from shiplift.machines.model import Founding, View
from shiplift.machines.pools import Candidate


class Chosen(NamedTuple):
    """The machines to be, and those that are there and are too many."""

    machines: tuple[Candidate, ...]
    too_many: tuple[Candidate, ...]


def choose(view: View, founding: Founding, now: datetime) -> Chosen:
    """In the order of the file, control planes first."""
    machines: set[str] = set()
    too_many: set[str] = set()
    for pool in view.wanted.pools:
        taken, free = _told_apart(view, pool, founding, now)
        choice = replicas.choose(taken, [] if pool.spec.paused else free, pool.spec.replicas)
        machines |= set(choice.machines)
        too_many |= set(choice.too_many)
    order = view.wanted.candidates
    return Chosen(
        tuple(one for one in order if one.name in machines),
        tuple(one for one in order if one.name in too_many),
    )


def _told_apart(
    view: View, pool: MachinePool, founding: Founding, now: datetime
) -> tuple[list[str], list[str]]:
    """Its hosts that were taken, and those that are free: who may have been taken first, then who answers."""
    hosts = [one.name for one in view.wanted.candidates if one.pool is pool]
    nodes = {one.name for one in view.nodes or ()}
    taken = [name for name in hosts if _is_taken(view, name, founding, nodes)]
    free = sorted(
        (name for name in hosts if name not in taken),
        key=lambda name: (not _may_be_taken(view, name, founding, now), view.facts(name) is None),
    )
    first = [name for name in taken if name == founding.first]
    return [*first, *(name for name in taken if name not in first)], free


def _is_taken(view: View, name: str, founding: Founding, nodes: set[str]) -> bool:
    facts = view.known(name)
    if facts is None:
        return name in nodes
    return facts.mark is not None or name == founding.first


def _may_be_taken(view: View, name: str, founding: Founding, now: datetime) -> bool:
    """Of a host that has said nothing in this run: no spare is claimed in its stead at one bad look."""
    silent = view.silent(name)
    if silent is None or silent.seen is not None or not founding.begun:
        return False
    nobody_knows = view.nodes is None and exists(view, founding.cluster)
    return nobody_knows or patient(silent, now)
