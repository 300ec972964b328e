"""Strongly connected components and the edges that close their circles, on numbers, without recursion."""

from __future__ import annotations

from collections.abc import Sequence


def components(below: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components of the graph (Tarjan), each after all that it points to."""
    walk = _Tarjan(below)
    for node in range(len(below)):
        if walk.number[node] < 0:
            walk.visit(node)
    return walk.found


class _Tarjan:
    def __init__(self, below: Sequence[Sequence[int]]) -> None:
        self.below = below
        self.number = [-1] * len(below)
        self.lowest = [0] * len(below)
        self.pending = [False] * len(below)
        self.stack: list[int] = []
        self.found: list[list[int]] = []
        self.count = 0

    def visit(self, root: int) -> None:
        self._enter(root)
        path = [(root, iter(self.below[root]))]
        number, lowest = self.number, self.lowest
        while path:
            node, rest = path[-1]
            for child in rest:
                if number[child] < 0:
                    self._enter(child)
                    path.append((child, iter(self.below[child])))
                    break
                if self.pending[child] and number[child] < lowest[node]:
                    lowest[node] = number[child]
            else:
                path.pop()
                if path and lowest[node] < lowest[path[-1][0]]:
                    lowest[path[-1][0]] = lowest[node]
                if lowest[node] == number[node]:
                    self._leave(node)

    def _enter(self, node: int) -> None:
        self.number[node] = self.lowest[node] = self.count
        self.count += 1
        self.stack.append(node)
        self.pending[node] = True

    def _leave(self, root: int) -> None:
        at = len(self.stack) - 1
        while self.stack[at] != root:
            at -= 1
        members = self.stack[at:]
        del self.stack[at:]
        for member in members:
            self.pending[member] = False
        self.found.append(members)


def back_edges(members: Sequence[int], below: Sequence[Sequence[int]]) -> set[tuple[int, int]]:
    """The edges among the members that lead back to where a walk from the first of them came from.

    Each as its start and its place among the edges of that start. Without them nothing goes round.
    """
    unseen = set(members)
    closing: set[tuple[int, int]] = set()
    for member in members:
        if member in unseen:
            _walk_back(member, below, unseen, closing)
    return closing


def _walk_back(
    root: int, below: Sequence[Sequence[int]], unseen: set[int], closing: set[tuple[int, int]]
) -> None:
    on_path = {root}
    unseen.discard(root)
    path = [(root, enumerate(below[root]))]
    while path:
        node, rest = path[-1]
        for place, end in rest:
            if end in unseen:
                unseen.discard(end)
                on_path.add(end)
                path.append((end, enumerate(below[end])))
                break
            if end in on_path:
                closing.add((node, place))
        else:
            path.pop()
            on_path.discard(node)
