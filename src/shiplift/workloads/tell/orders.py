"""Writes the status of WorkloadOrders. There may be many, and one whose status the API server refuses (a
webhook of somebody's, a right that is missing) keeps none of the others from being told: it is tried again
ever more rarely, and named.

What a slow API server does not take in a moment is left to the next round, so that no round, and no eviction
that waits for one, takes as long as all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple, cast

from shiplift.api.orders import WorkloadOrder, WorkloadOrderStatus
from shiplift.engine.backoff import Backoff, Failures
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError
from shiplift.kube.statuses import Subject, barriers, put_off, write
from shiplift.workloads.model import Migrating
from shiplift.workloads.tell.order_status import order_status

TIME_FOR_ORDERS = 2.0
"""Seconds of one round."""
_RARELY = Backoff(first=timedelta(seconds=0.5), cap=timedelta(minutes=5), factor=3.0, jitter=0.0)
"""Soon at first: most refusals are over in a moment, and a migration may be too."""
_LAST_TRIES = 6
"""So often in a row a status may be refused before it stays untold after the end of a migration."""


class _Untold(NamedTuple):
    """A status that was refused, and when to try it again."""

    status: WorkloadOrderStatus
    at: float


class OrderStatuses:
    """Tells of decisions, one after the other."""

    def __init__(self, client: Client, now: Callable[[], float]) -> None:
        self._client, self._now = client, now
        self._failures = Failures[str]()
        self._again: dict[str, _Untold] = {}
        """Those whose status could not be written, by uid."""

    def publish(self, decision: Migrating) -> Iterator[Barrier | Requeue]:
        """Only while everything is counted: without that nobody knows what is missing. After it, only what
        could not be told in time. What was refused is an error at the end."""
        began, refused = self._now(), list[str]()
        self._keep({row.uid for row in decision.view.orders} if self._again else set())
        for row, after in self._due(decision) if decision.moving else self._left(decision.view.orders):
            if self._now() - began > TIME_FOR_ORDERS:
                yield put_off(0.0)
                break
            try:
                yield from self._write(row, after)
            except ApiError as error:
                refused.append(self._refused(row, after, error))
        if self._again:
            yield put_off(max(0.0, min(one.at for one in self._again.values()) - self._now()))
        if refused:
            raise Retry(refused[0])

    def _due(self, decision: Migrating) -> Iterator[tuple[Custom, WorkloadOrderStatus]]:
        """Those whose status differs, but for what was refused a moment ago."""
        for row in decision.view.orders:
            after = order_status(row, decision.view.order, decision.now)
            untold = self._again.get(row.uid)
            if after == cast("WorkloadOrder", row.object).status:
                self._went_well(row.uid)
            elif untold is None or untold.at <= self._now():
                yield row, after

    def _left(self, orders: Iterable[Custom]) -> Iterator[tuple[Custom, WorkloadOrderStatus]]:
        """What was refused while there was something to tell, as it was then."""
        for row in orders:
            untold = self._again.get(row.uid)
            if untold is not None and self._failures[row.uid] > _LAST_TRIES:
                self._went_well(row.uid)
            elif untold is not None and untold.at <= self._now():
                yield row, untold.status

    def _write(self, row: Custom, after: WorkloadOrderStatus) -> Iterable[Barrier]:
        before = cast("WorkloadOrder", row.object).status
        subject = Subject(kinds.WORKLOAD_ORDER, row.name, row.uid, str(row.resource_version), row.namespace)
        written = write(self._client, subject, before, after)
        self._went_well(row.uid)
        return barriers(written)

    def _refused(self, row: Custom, after: WorkloadOrderStatus, error: ApiError) -> str:
        delay = _RARELY.delay(self._failures.failed(row.uid), 0.0)
        self._again[row.uid] = _Untold(after, self._now() + delay.total_seconds())
        return f"the status of WorkloadOrder {row.namespace}/{row.name} cannot be written: {error}"

    def _went_well(self, uid: str) -> None:
        if self._again.pop(uid, None) is not None:
            self._failures.succeeded(uid)

    def _keep(self, there: set[str]) -> None:
        """Those that are gone are not tried again."""
        for uid in [one for one in self._again if one not in there]:
            self._went_well(uid)
