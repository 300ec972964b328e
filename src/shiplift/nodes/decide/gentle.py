"""Of nodes that could be begun, those that take the least of what budgets have to give. Those with a pod that
can never go come when no other is left: each holds a slot until somebody helps.

A node whose pods may all go at once is empty as soon as they have ended; one with a pod that its budget keeps
waits until replacements are up. By the time its turn comes, its budget mostly has room again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shiplift.api.nodes import NodeRolloutSpec
from shiplift.nodes.model import Demands, Member

_LOOKED_AT = 32
"""So many nodes are compared, at least; four for each that is begun where those are more."""


def drainable(
    free: Sequence[Member], count: int, demands: Demands | None, spec: NodeRolloutSpec
) -> tuple[list[Member], list[Member]]:
    """Nodes of which so many are chosen, as they are ordered, as far as they have to be looked at: those that
    can be drained, and, where these are all, those that cannot."""
    if demands is None:
        return list(free), []
    found, stuck = list[Member](), list[Member]()
    for one in free:
        if len(found) >= _most(count):
            return found, []
        (stuck if demands.stuck(one.name, spec) else found).append(one)
    return found, stuck


def _most(count: int) -> int:
    return max(_LOOKED_AT, 4 * count)


def gentlest(free: Sequence[Member], count: int, demands: Demands | None) -> list[Member]:
    """So many of the nodes: always the first, as they are ordered, of which the least is kept."""
    if demands is None or count >= len(free):
        return list(free[: max(count, 0)])
    left, chosen = list(free[: _most(count)]), list[Member]()
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
