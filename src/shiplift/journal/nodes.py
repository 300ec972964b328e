"""What happened to nodes: by what they say of themselves, and by what the records of NodeRollouts say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from shiplift.api.nodes import Blocker, NodeRollout, NodeState, NodeStatus
from shiplift.facts.nodes import Node
from shiplift.journal.model import MOST_NODES, NodeStory
from shiplift.journal.tale import Tale

_TOLD = (
    NodeState.DRAINING,
    NodeState.CHANGING,
    NodeState.VERIFYING,
    NodeState.SOAKING,
    NodeState.FAILED,
    NodeState.REVERTING,
    NodeState.QUARANTINED,
    NodeState.SKIPPED,
)
_WITH_WHY = (NodeState.FAILED, NodeState.REVERTING, NodeState.QUARANTINED, NodeState.SKIPPED)


class _Known(NamedTuple):
    """A node as it was last seen."""

    uid: str
    seen: int
    version: str
    cordoned: bool
    ready: bool


class _Story:
    def __init__(self, told: NodeStory) -> None:
        self.name, self.was, self.runs = told.name, told.was, told.runs
        self.tale = Tale(told.entries, told.waits, told.more)

    def told(self) -> NodeStory:
        tale = self.tale
        return NodeStory(
            name=self.name,
            was=self.was,
            runs=self.runs,
            entries=tale.entries,
            waits=tale.waits,
            more=tale.more,
        )


class NodeStories:
    """The nodes to which something happened; from one thread."""

    def __init__(self, told: Iterable[NodeStory] = ()) -> None:
        self._stories = {one.name: _Story(one) for one in told}
        self._known: dict[str, _Known] = {}
        self._states: dict[tuple[str, str], NodeState] = {}
        self._nobody: set[str] = set()
        """Nodes for which there is no room."""

    def told(self) -> tuple[NodeStory, ...]:
        return tuple(self._stories[name].told() for name in sorted(self._stories))

    @property
    def left_out(self) -> int:
        return len(self._nobody)

    def found(self, at: datetime, row: Node) -> None:
        """As it is when somebody begins to watch."""
        self._known[row.name] = _known(row)
        story = self._stories.get(row.name)
        if story is not None and story.runs != row.kubelet_version:
            story.tale.tell(at, f"found at {row.kubelet_version}: nobody watched when it changed")
            story.runs = row.kubelet_version

    def heard(self, at: datetime, old: Node | None, new: Node | None) -> None:
        if new is None:
            self._left(at, old)
            return
        before, now = self._known.get(new.name), _known(new)
        if before is not None and before.seen >= now.seen:
            return
        self._known[new.name] = now
        if before is None or before.uid != now.uid:
            self._tell(at, new.name, f"joined with {now.version}", "", now.version)
            return
        for text in _changes(before, now):
            self._tell(at, new.name, text, before.version, now.version)

    def _left(self, at: datetime, old: Node | None) -> None:
        known = self._known.get(old.name) if old is not None else None
        if old is None or known is None or known.uid != old.uid:
            return
        del self._known[old.name]
        self._tell(at, old.name, "left the cluster", known.version, known.version)

    def recorded(self, at: datetime, rollout: NodeRollout) -> None:
        """What a NodeRollout says of its nodes now."""
        name = rollout.metadata.name
        records = {one.name: one for one in rollout.status.nodes}
        for key in [key for key in self._states if key[0] == name and key[1] not in records]:
            del self._states[key]
            self._goes_on(at, key[1])
        for one in records.values():
            self._record(at, name, one)

    def forget(self, at: datetime, rollout: str) -> None:
        """A NodeRollout is gone."""
        for key in [key for key in self._states if key[0] == rollout]:
            del self._states[key]
            self._goes_on(at, key[1])

    def _record(self, at: datetime, rollout: str, one: NodeStatus) -> None:
        before = self._states.get((rollout, one.name))
        self._states[rollout, one.name] = one.state
        if before is not one.state and one.state in _TOLD:
            why = f": {one.message}" if one.message and one.state in _WITH_WHY else ""
            self._tell(at, one.name, f"{one.state.lower()}{why}")
        if one.blockers:
            story = self._story(one.name)
            if story is not None:
                story.tale.waits_for(at, one.reason or "DrainBlocked", _kept(one.blockers))
        else:
            self._goes_on(at, one.name)

    def _goes_on(self, at: datetime, name: str) -> None:
        if (story := self._stories.get(name)) is not None:
            story.tale.goes_on(at)

    def _tell(self, at: datetime, name: str, text: str, was: str = "", runs: str = "") -> None:
        story = self._story(name, was)
        if story is None:
            return
        story.runs = runs or story.runs
        story.tale.tell(at, text)

    def _story(self, name: str, was: str = "") -> _Story | None:
        if name not in self._stories:
            if len(self._stories) >= MOST_NODES:
                self._nobody.add(name)
                return None
            known = self._known.get(name)
            version = was or (known.version if known else "")
            self._stories[name] = _Story(NodeStory(name=name, was=version, runs=version))
        return self._stories[name]


def _known(row: Node) -> _Known:
    return _Known(row.uid, row.resource_version, row.kubelet_version, row.unschedulable, row.ready)


def _changes(before: _Known, now: _Known) -> Iterable[str]:
    if before.cordoned != now.cordoned:
        yield "cordoned" if now.cordoned else "takes pods again"
    if before.version != now.version:
        yield f"{before.version} -> {now.version}"
    if before.ready != now.ready:
        yield "Ready" if now.ready else "not Ready"


def _kept(blockers: tuple[Blocker, ...]) -> str:
    first, more = blockers[0], len(blockers) - 1
    by = f" by PodDisruptionBudget {first.budget}" if first.budget else ""
    said = f": {first.message}" if first.message else ""
    return f"pod {first.pod} is kept{by}{said}" + (f", and {more} more" if more else "")
