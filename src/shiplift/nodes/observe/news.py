"""What was heard of the cluster since the last look, as far as it matters.

Most events do not: while there is no rollout nothing does but rollouts and what nodes carry of them; while
there is one, pods matter on nodes that are being changed, and a mere heartbeat of an agent only there. Pods
of the operator matter wherever they are, since the one that leads goes when another is Ready. What a look
goes by is said before it takes its snapshot, so that nothing is missed in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple, cast

from shiplift.drain.own import is_operator
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.nodes.observe.members import has_ours, only_beats

_OF_DRAINS = (
    kinds.POD_DISRUPTION_BUDGET,
    kinds.DAEMON_SET,
    kinds.STATEFUL_SET,
    kinds.VOLUME_ATTACHMENT,
    kinds.PERSISTENT_VOLUME,
    kinds.PERSISTENT_VOLUME_CLAIM,
)
"""What matters only where nodes are drained."""


class News(NamedTuple):
    """What was heard."""

    matters: bool
    """Whether a new view is due."""
    nodes: frozenset[str]
    """Nodes that have changed, or of which pods have."""


class Heard:
    """Notes news from any thread, for one that takes them."""

    def __init__(self) -> None:
        self._news: deque[tuple[bool, tuple[str, ...]]] = deque()
        self._rolling, self._recorded = True, frozenset[str]()

    def go_by(self, rolling: bool, recorded: Collection[str]) -> None:
        """Whether there is a rollout, and the names of the nodes that one has a record of."""
        self._rolling, self._recorded = rolling, frozenset(recorded)

    def note(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """On the reader's thread."""
        match kind:
            case kinds.POD:
                self._note_pod(cast("Pod | None", old), cast("Pod | None", new))
            case kinds.NODE:
                self._note_node(cast("Node | None", old), cast("Node | None", new))
            case kinds.NODE_ROLLOUT:
                self._news.append((True, ()))
            case _ if self._rolling and (self._recorded or kind not in _OF_DRAINS):
                self._news.append((True, ()))
            case _:
                pass

    def take(self) -> News:
        """What was noted so far. Taken before the snapshot, which therefore has all of it."""
        taken = [self._news.popleft() for _ in range(len(self._news))]
        nodes = frozenset(node for _, some in taken for node in some)
        return News(any(matters for matters, _ in taken), nodes)

    def _note_pod(self, old: Pod | None, new: Pod | None) -> None:
        if not self._rolling:
            return
        known = [pod for pod in (old, new) if pod is not None]
        nodes = tuple({pod.node for pod in known if pod.node})
        if nodes or not known:
            matters = not known or not self._recorded.isdisjoint(nodes) or any(map(is_operator, known))
            self._news.append((matters, nodes))

    def _note_node(self, old: Node | None, new: Node | None) -> None:
        names = tuple({row.name for row in (old, new) if row is not None})
        if not self._rolling and names and not has_ours(old) and not has_ours(new):
            return
        unseen = old is not None and new is not None and self._recorded.isdisjoint(names)
        if not (unseen and only_beats(cast("Node", old), cast("Node", new))):
            self._news.append((True, names))
