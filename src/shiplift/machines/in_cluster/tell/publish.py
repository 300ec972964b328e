"""Writes what there is to tell: the statuses of pools and machines, and Events on pools.

Machines come first: another layer goes by what their statuses say. A status that cannot be written keeps no
other from being told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.api.values import Status
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import KubeError
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Pace, Subject, barriers, put_off, write
from shiplift.machines.in_cluster.model import Keeping, MachineTold, PoolTold, machine_of, pool_of
from shiplift.machines.in_cluster.tell.happenings import happenings
from shiplift.machines.in_cluster.tell.report import WEIGHT

_ACTION = "Provide"


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(self, client: Client, recorder: Recorder, pace: Callable[[], Pace] = Pace) -> None:
        self._client, self._recorder, self._pace = client, recorder, pace
        self._paces: dict[str, Pace] = {}

    def publish(self, decision: Keeping) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        known = {one.row.uid for one in decision.pools}
        self._paces = {uid: pace for uid, pace in self._paces.items() if uid in known}
        refused: list[str] = []
        for told in (*decision.machines, *decision.pools):
            try:
                yield from self._machine(told) if isinstance(told, MachineTold) else self._pool(told)
            except (KubeError, ValueError) as error:
                refused.append(f"the status of {told.row.name}: {error}")
        if refused:
            raise Retry(f"cannot be written: {'; '.join(refused[:3])}")

    def _machine(self, told: MachineTold) -> Iterator[Barrier]:
        yield from barriers(self._write(MACHINE, told.row, machine_of(told.row).status, told.status))

    def _pool(self, told: PoolTold) -> Iterator[Barrier | Requeue]:
        before, after = pool_of(told.row).status, told.status
        if after == before:
            return
        pace = self._paces.setdefault(told.row.uid, self._pace())
        if left := pace.left(WEIGHT, before, after):
            yield put_off(left)
            return
        began = pace.now()
        if (written := self._write(MACHINE_POOL, told.row, before, after)) is None:
            return
        pace.told(began)
        about = Regarding(MACHINE_POOL, told.row.name, uid=told.row.uid)
        for one in happenings(before, after):
            kind = EventType.WARNING if one.warning else EventType.NORMAL
            self._recorder.record(about, one.reason, one.note, action=_ACTION, type=kind)
        yield from barriers(written)

    def _write(self, kind: Kind, row: Custom, before: Status, after: Status) -> Written | None:
        return write(self._client, Subject(kind, row.name, row.uid, str(row.resource_version)), before, after)
