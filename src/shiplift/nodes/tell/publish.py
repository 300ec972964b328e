"""Writes what there is to tell: the statuses of rollouts, and Events on them and on nodes.

What decisions depend on is written at once, the records of nodes above all: nothing is done to a node before
its record is stored. Progress that only people read is told about once a second. A status that cannot be
written keeps no other from being told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from shiplift.api.nodes import NodeRolloutStatus
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts.kinds import NODE, NODE_ROLLOUT
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import KubeError
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Pace, Subject, barriers, put_off, write
from shiplift.nodes.model import Rolling, Told
from shiplift.nodes.tell.happenings import Happening, blocked, of_nodes, of_rollout
from shiplift.nodes.tell.report import WEIGHT

_ACTION = "Rollout"
BLOCKED_SECONDS = 15.0
"""For how long a drain has to be blocked before that is told by an Event."""

_REFUSED_TIMES = 3
"""So often in a row a status is refused before an Event tells it: somebody else may have been faster."""

_MOMENT = 5.0
"""For so many seconds a drain that was blocked still is: what is refused is tried again in between."""


class _Blocked(NamedTuple):
    since: float
    """Infinite once that was told."""
    last: float


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        pace: Callable[[], Pace] = Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._recorder, self._pace, self._clock = client, recorder, pace, clock
        self._paces: dict[str, Pace] = {}
        self._refused: dict[str, int] = {}
        """How often in a row the status of a rollout, by uid, was refused."""
        self._blocked: dict[str, _Blocked] = {}
        """Since when the drains of nodes, by uid, have been blocked, and when they were last."""

    def publish(self, decision: Rolling) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        known = {one.rollout.metadata.uid for one in decision.told}
        self._paces = {uid: pace for uid, pace in self._paces.items() if uid in known}
        self._refused = {uid: times for uid, times in self._refused.items() if uid in known}
        self._tell_blocked(decision)
        refused: list[str] = []
        for told in decision.told:
            try:
                yield from self._publish(told)
            except (KubeError, ValueError) as error:
                # a ValueError is of the text itself: it keeps this one from being written, and no other
                refused.append(f"the status of NodeRollout {told.rollout.metadata.name}: {error}")
                self._tell_refused(told, str(error))
        if refused:
            raise Retry(f"cannot be written: {'; '.join(refused)}")

    def _publish(self, told: Told) -> Iterator[Barrier | Requeue]:
        before, after = told.rollout.status, told.status
        if after == before:
            return
        pace = self._paces.setdefault(told.rollout.metadata.uid, self._pace())
        if left := pace.left(WEIGHT, before, after):
            yield put_off(left)
            return
        began = pace.now()
        if (written := self._write(told)) is None:
            return
        pace.told(began)
        self._refused.pop(told.rollout.metadata.uid, None)
        self._tell(told, before, after)
        yield from barriers(written)

    def _write(self, told: Told) -> Written | None:
        about = told.rollout.metadata
        subject = Subject(NODE_ROLLOUT, about.name, about.uid, about.resource_version)
        return write(self._client, subject, told.rollout.status, told.status)

    def _tell(self, told: Told, before: NodeRolloutStatus, after: NodeRolloutStatus) -> None:
        about = told.rollout.metadata
        for one in of_rollout(before, after):
            self._record(Regarding(NODE_ROLLOUT, about.name, uid=about.uid), one)
        for node in of_nodes(about.name, before, after):
            self._record(Regarding(NODE, node.name, uid=node.uid), node.told)

    def _tell_blocked(self, decision: Rolling) -> None:
        """Once for each time that a drain is blocked for long."""
        found = [
            (record, told)
            for one in decision.told
            for record in one.status.nodes
            if (told := blocked(one.rollout.metadata.name, record)) is not None
        ]
        now = self._clock()
        still = {record.uid for record, _ in found}
        self._blocked = {
            uid: one for uid, one in self._blocked.items() if uid in still or now <= one.last + _MOMENT
        }
        for record, told in found:
            since = self._blocked[record.uid].since if record.uid in self._blocked else now
            due = now >= since + BLOCKED_SECONDS
            self._blocked[record.uid] = _Blocked(float("inf") if due else since, now)
            if due:
                self._record(Regarding(NODE, record.name, uid=record.uid), told)

    def _tell_refused(self, told: Told, why: str) -> None:
        """Once, where a status is refused again and again: it is where that would be told."""
        about = told.rollout.metadata
        self._refused[about.uid] = times = self._refused.get(about.uid, 0) + 1
        if times == _REFUSED_TIMES:
            note = f"its status cannot be written: {why}"
            refused = Happening("CannotTell", note, warning=True)
            self._record(Regarding(NODE_ROLLOUT, about.name, uid=about.uid), refused)

    def _record(self, regarding: Regarding, one: Happening) -> None:
        kind = EventType.WARNING if one.warning else EventType.NORMAL
        self._recorder.record(regarding, one.reason, one.note, action=_ACTION, type=kind)
