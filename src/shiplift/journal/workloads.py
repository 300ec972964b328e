"""What happened to workloads: moves and the least that was Ready by their pods, turns by the
WorkloadMigration.

A pod counts as Ready until somebody ends it. A workload needs its replicas; while these are raised it needs
what it had reached before, so that scaling up is no shortage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from shiplift.api.workloads import WorkloadMigrationStatus, WorkloadState, WorkloadStatus
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, StatefulSet
from shiplift.journal.model import MOST_WORKLOADS, Least, WorkloadStory
from shiplift.journal.tale import Tale

Owner = Deployment | StatefulSet
_HASH = "pod-template-hash"
_TOLD = {
    WorkloadState.RELEASED: "its turn has come",
    WorkloadState.MOVING: "moving",
    WorkloadState.SKIPPED: "left alone",
}
_WAITS = (WorkloadState.HELD, WorkloadState.BLOCKED)


class _Known(NamedTuple):
    """A pod as it was last seen."""

    workload: str
    seen: int
    bound: bool
    ready: bool


class _Story:
    def __init__(self, told: WorkloadStory) -> None:
        self.name, self.least, self.moves = told.name, told.least, told.moves
        self.last_move = told.last_move
        self.tale = Tale(told.entries, told.waits, told.more)

    def told(self) -> WorkloadStory:
        tale = self.tale
        return WorkloadStory(
            name=self.name,
            least=self.least,
            moves=self.moves,
            last_move=self.last_move,
            entries=tale.entries,
            waits=tale.waits,
            more=tale.more,
        )


class WorkloadStories:
    """Every workload that needed a pod; from one thread."""

    def __init__(self, start: datetime, told: Iterable[WorkloadStory] = ()) -> None:
        self._start = int(start.timestamp())
        self._stories = {one.name: _Story(one) for one in told}
        self._pods: dict[str, _Known] = {}
        self._ready: Counter[str] = Counter()
        self._replicas: dict[str, int] = {}
        self._needed: dict[str, int] = {}
        self._owners: dict[str, str] = {}
        """The names of workloads by uid."""
        self._states: dict[str, WorkloadState] = {}
        self._nobody: set[str] = set()
        """Workloads for which there is no room."""

    def told(self) -> tuple[WorkloadStory, ...]:
        return tuple(self._stories[name].told() for name in sorted(self._stories))

    @property
    def left_out(self) -> int:
        return len(self._nobody)

    def found(self, at: datetime, pods: Iterable[Pod], owners: Iterable[Owner]) -> None:
        """As they are when somebody begins to watch; all at once, or some would seem to be short of pods."""
        for pod in pods:
            self._note(pod)
        for owner in owners:
            name = name_of(owner)
            self._owners[owner.uid] = name
            self._replicas[name] = self._needed[name] = owner.replicas
            self._look(at, name)

    def scaled(self, at: datetime, old: Owner | None, new: Owner | None) -> None:
        if new is None:
            if old is not None and self._owners.pop(old.uid, None) is not None:
                self._replicas.pop(name_of(old), None)
            return
        name = name_of(new)
        self._owners[new.uid] = name
        self._replicas[name] = new.replicas
        self._needed.setdefault(name, 0)
        self._look(at, name)

    def heard(self, at: datetime, old: Pod | None, new: Pod | None) -> None:
        row = new if new is not None else old
        if row is None:
            return
        before = self._pods.get(row.uid)
        if new is None:
            self._forget(row.uid)
        elif before is None or before.seen < new.resource_version:
            self._note(new)
            self._moved(at, new, before)
        if before is not None or new is not None:
            self._look(at, before.workload if before else workload_of(row))

    def _moved(self, at: datetime, pod: Pod, before: _Known | None) -> None:
        """A pod that has a node now and had none, or that was made since the start."""
        fresh = not before.bound if before is not None else pod.created >= self._start
        name = workload_of(pod)
        if not pod.node or not fresh or not name:
            return
        if (story := self._story(name)) is not None:
            story.moves += 1
            story.last_move = at

    def _note(self, pod: Pod) -> None:
        self._forget(pod.uid)
        name = workload_of(pod)
        ready = pod.ready and not pod.deleting and not pod.finished
        self._pods[pod.uid] = _Known(name, pod.resource_version, bool(pod.node), ready)
        self._ready[name] += ready

    def _forget(self, uid: str) -> None:
        if (known := self._pods.pop(uid, None)) is not None:
            self._ready[known.workload] -= known.ready

    def _look(self, at: datetime, name: str) -> None:
        """Whether a smaller share than ever is Ready."""
        replicas = self._replicas.get(name)
        if not replicas:
            return
        ready = self._ready[name]
        needed = replicas if ready >= replicas else min(self._needed.get(name, replicas), replicas)
        self._needed[name] = needed
        if not needed or (story := self._story(name)) is None:
            return
        ready, least = min(ready, needed), story.least
        if least is None or ready * least.of < least.ready * needed:
            story.least = Least(ready=ready, of=needed, at=at)

    def turned(self, at: datetime, status: WorkloadMigrationStatus) -> None:
        """What the WorkloadMigration says of workloads now; one that it says nothing of any more has moved,
        or it tells of none."""
        now = {one.uid: one for one in status.workloads}
        met = frozenset(status.met)
        for uid in [uid for uid in self._states if uid not in now]:
            del self._states[uid]
            self._arrived(at, self._owners.get(uid, ""), moved=uid in met)
        for one in now.values():
            self._turn(at, one)

    def forget_turns(self, at: datetime) -> None:
        """The WorkloadMigration is gone, or at its end."""
        for uid in self._states:
            self._arrived(at, self._owners.get(uid, ""), moved=False)
        self._states.clear()

    def _arrived(self, at: datetime, name: str, *, moved: bool) -> None:
        if (story := self._stories.get(name)) is None:
            return
        story.tale.goes_on(at)
        if moved:
            story.tale.tell(at, "moved")

    def _turn(self, at: datetime, one: WorkloadStatus) -> None:
        name = f"{one.kind} {one.namespace}/{one.name}"
        self._owners.setdefault(one.uid, name)
        before, self._states[one.uid] = self._states.get(one.uid), one.state
        if (story := self._story(name)) is None:
            return
        if one.state in _WAITS:
            story.tale.waits_for(at, one.reason or one.state.value, one.message)
            return
        story.tale.goes_on(at)
        if before is not one.state and one.state in _TOLD:
            story.tale.tell(at, _TOLD[one.state])

    def _story(self, name: str) -> _Story | None:
        if name not in self._stories:
            if len(self._stories) >= MOST_WORKLOADS:
                self._nobody.add(name)
                return None
            self._stories[name] = _Story(WorkloadStory(name=name))
        return self._stories[name]


def name_of(owner: Owner) -> str:
    return f"{type(owner).__name__} {owner.namespace}/{owner.name}"


def workload_of(pod: Pod) -> str:
    """Whose it is; empty for pods of DaemonSets, Jobs and nobody. ReplicaSets of a Deployment are named after
    it and after the hash that their pods carry."""
    owner = pod.controller
    if owner is None:
        return ""
    if owner.kind == "StatefulSet":
        return f"StatefulSet {pod.namespace}/{owner.name}"
    suffix = f"-{pod.labels.get(_HASH, '')}"
    if owner.kind == "ReplicaSet" and len(suffix) > 1 and owner.name.endswith(suffix):
        return f"Deployment {pod.namespace}/{owner.name.removesuffix(suffix)}"
    return ""
