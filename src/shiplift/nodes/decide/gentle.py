"""Of nodes that could be begun, those that take the least of what budgets have to give.

A node whose pods may all go at once is empty as soon as they have ended; one with a pod that its budget keeps
waits until replacements are up. By the time its turn comes, its budget mostly has room again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shiplift.nodes.model import Demands, Member

_LOOKED_AT = 32
"""So many nodes are compared, at least; four for each that is begun where those are more."""


def gentlest(free: Sequence[Member], count: int, demands: Demands | None) -> list[Member]:
    """So many of the nodes: always the first, as they are ordered, of which the least is kept."""
    if demands is None or count >= len(free):
        return list(free[: max(count, 0)])
    left, chosen = list(free[: max(_LOOKED_AT, 4 * count)]), list[Member]()
    taken = Counter[str]()
    while left and len(chosen) < count:
        best = _first_of_least(left, taken, demands)
        taken.update(demands.of(best.name))
        chosen.append(best)
        left.remove(best)
    return chosen


def _first_of_least(nodes: Sequence[Member], taken: Counter[str], demands: Demands) -> Member:
    best, least = nodes[0], None
    for one in nodes:
        kept = _kept(one, taken, demands)
        if not kept:
            return one
        if least is None or kept < least:
            best, least = one, kept
    return best


def _kept(node: Member, taken: Counter[str], demands: Demands) -> int:
    """How many of its pods would have to wait for a budget."""
    return sum(
        max(pods - max(demands.left(budget) - taken[budget], 0), 0)
        for budget, pods in demands.of(node.name).items()
    )
