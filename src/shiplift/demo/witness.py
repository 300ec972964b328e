"""What really became of the pods, from their own history: it takes nobody's word for it, not the operator's.

The API server tells the changes of all pods in one order, so that one was bound before another was Ready is
a matter of fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.pods import Pod

Change = tuple[Pod | None, Pod | None]
"""A pod as it was and as it is; None where it was not, or is not, there."""
APP = "app"
"""The label by which the pods of the shop say whose they are."""


class Verdict(msgspec.Struct, frozen=True):
    """How the move went."""

    pods: int
    moves: int
    """How many more pods were given a node since it began."""
    early: tuple[str, ...]
    """Pods that left or came before all that they need had arrived."""

    @property
    def once_each(self) -> bool:
        return self.moves == self.pods

    @property
    def broken(self) -> bool:
        return bool(self.early) or not self.once_each

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        times = "each once" if self.once_each else "not each once"
        order = f"not kept by {', '.join(self.early)}" if self.early else "kept: each after all that it needs"
        return (
            ("moves", f"{self.moves} for {self.pods} pods: {times}"),
            ("order", order),
            ("left", "nothing: no label, budget or placement of ours"),
        )


class MoveWitness:
    """Writes down every change of a pod from the first on; to be subscribed to a store."""

    def __init__(self, needs: Mapping[str, Iterable[str]], targets: Iterable[str]) -> None:
        """Which app needs which, and the nodes that they go to."""
        self._needs, self._targets = needs, frozenset(targets)
        self._changes: list[Change] = []
        self._began = 0
        self._closed = False

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        if kind == kinds.POD and not self._closed:
            self._changes.append((_pod(old), _pod(new)))

    def begin(self) -> None:
        """What happens from now on is the move."""
        self._began = len(self._changes)

    def verdict(self) -> Verdict:
        """The last word: nothing is written down any more."""
        self._closed = True
        return judge(self._changes, self._began, self._needs, self._targets)


def judge(
    changes: Sequence[Change], began: int, needs: Mapping[str, Iterable[str]], targets: frozenset[str]
) -> Verdict:
    """All changes, from which of them on it was the move, which app needs which, and where they go."""
    pods: dict[str, Pod] = {}
    for change in changes[:began]:
        _follow(pods, change)
    wanted = Counter(pod.labels.get(APP, "") for pod in pods.values())
    arrived: set[str] = set()
    moves, early = 0, list[str]()
    for change in changes[began:]:
        _follow(pods, change)
        moves += _is_bound(change)
        pod = change[1] or change[0]
        app = pod.labels.get(APP, "") if pod else ""
        if pod and (_is_bound(change) or _leaves(change)) and not arrived.issuperset(needs.get(app, ())):
            early.append(pod.name)
        if _all_there([one for one in pods.values() if one.labels.get(APP) == app], wanted[app], targets):
            arrived.add(app)
    return Verdict(wanted.total(), moves, tuple(dict.fromkeys(early)))


def _follow(pods: dict[str, Pod], change: Change) -> None:
    old, new = change
    if old is not None:
        pods.pop(old.uid, None)
    if new is not None:
        pods[new.uid] = new


def _is_bound(change: Change) -> bool:
    old, new = change
    return new is not None and bool(new.node) and (old is None or not old.node)


def _leaves(change: Change) -> bool:
    old, new = change
    return new is None or (bool(new.deleting) and (old is None or not old.deleting))


def _all_there(pods: Sequence[Pod], wanted: int, targets: frozenset[str]) -> bool:
    return len(pods) == wanted and all(pod.ready and not pod.deleting and pod.node in targets for pod in pods)


def _pod(row: Row | None) -> Pod | None:
    return row if isinstance(row, Pod) else None
