"""Writes what there is to tell: the statuses of our own objects, and Events on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, KubeError, Throttled
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Subject, barriers, write
from shiplift.operators.model import Decided, Key, Told
from shiplift.operators.tell.happenings import happenings

_ACTION = "Operate"


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(self, client: Client, recorder: Recorder, wake: Callable[[Key], None]) -> None:
        self._client, self._recorder, self._wake = client, recorder, wake

    def publish(self, decision: Decided) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        for key in decision.wake:
            self._wake(key)
        for told in decision.told:
            try:
                yield from self._publish(told)
            except (KubeError, ValueError) as error:
                if isinstance(error, ApiError) and not isinstance(error, Throttled):
                    self._refused(told, error)
                raise Retry(f"the status of {told.row.name} cannot be written: {error}") from error

    def _refused(self, told: Told, error: ApiError) -> None:
        """A webhook, or a right that is missing: the status itself cannot say so."""
        row = told.row
        unwritten = f"the status of {row.object.KIND} {row.name} cannot be written"
        note = f"{unwritten}, and what waits for it does: {error}"
        about = Regarding(row.object.KIND, row.name, row.namespace, row.uid)
        self._recorder.record(about, "StatusRefused", note, action=_ACTION, type=EventType.WARNING)

    def _publish(self, told: Told) -> Iterator[Barrier | Requeue]:
        row, before = told.row, told.row.object.status
        if before == told.status:
            return
        kind = row.object.KIND
        subject = Subject(kind, row.name, row.uid, str(row.resource_version), row.namespace)
        if (written := write(self._client, subject, before, told.status)) is None:
            return
        about = Regarding(kind, row.name, row.namespace, row.uid)
        for one in happenings(before, told.status):
            type_ = EventType.WARNING if one.warning else EventType.NORMAL
            self._recorder.record(about, one.reason, one.note, action=_ACTION, type=type_)
        yield from barriers(written)
