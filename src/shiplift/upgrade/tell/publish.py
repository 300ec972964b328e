"""Writes what there is to tell: the status of the UpgradeConfig, and Events on it.

Where an upgrade goes is written at once: nothing is done before it is stored. Progress that only people read
is told about once a second.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.errors import ApiError, KubeError, Throttled
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Pace, Subject, barriers, put_off, write
from shiplift.upgrade.model import Conducted, Told
from shiplift.upgrade.tell.happenings import happenings
from shiplift.upgrade.tell.report import WEIGHT

_ACTION = "Upgrade"
_UNWRITTEN = "the status of the UpgradeConfig cannot be written"


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(self, client: Client, recorder: Recorder, pace: Pace | None = None) -> None:
        self._client, self._recorder, self._pace = client, recorder, pace or Pace()

    def publish(self, decision: Conducted) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        if decision.told is None:
            return
        try:
            yield from self._publish(decision.told)
        except (KubeError, ValueError) as error:
            if isinstance(error, ApiError) and not isinstance(error, Throttled):
                self._refused(decision.told, error)
            raise Retry(f"{_UNWRITTEN}: {error}") from error

    def _publish(self, told: Told) -> Iterator[Barrier | Requeue]:
        before, after = told.upgrade.status, told.status
        if after == before:
            return
        if left := self._pace.left(WEIGHT, before, after):
            yield put_off(left)
            return
        began, about = self._pace.now(), told.upgrade.metadata
        subject = Subject(UPGRADE_CONFIG, about.name, about.uid, about.resource_version)
        if (written := write(self._client, subject, before, after)) is None:
            return
        self._pace.told(began)
        self._tell(told)
        yield from barriers(written)

    def _refused(self, told: Told, error: ApiError) -> None:
        """A webhook, or a right that is missing: the status itself cannot say so."""
        note = f"{_UNWRITTEN}, and nothing goes on before it is: {error}"
        about = _regarding(told)
        self._recorder.record(about, "StatusRefused", note, action=_ACTION, type=EventType.WARNING)

    def _tell(self, told: Told) -> None:
        regarding = _regarding(told)
        for one in happenings(told.upgrade.status, told.status):
            kind = EventType.WARNING if one.warning else EventType.NORMAL
            self._recorder.record(regarding, one.reason, one.note, action=_ACTION, type=kind)


def _regarding(told: Told) -> Regarding:
    about = told.upgrade.metadata
    return Regarding(UPGRADE_CONFIG, about.name, uid=about.uid)
