"""Writes what there is to tell: the status of a service, and Events on it.

What decisions depend on is written at once: an operation that is about to start, and why a spec was given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shiplift.api.quorum import QuorumService, QuorumServiceStatus
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts.kinds import QUORUM_SERVICE
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Pace, Subject, barriers, put_off, write
from shiplift.quorum.tell.happenings import of_service
from shiplift.quorum.tell.report import WEIGHT

_ACTION = "Swap"


class Publisher:
    """Tells of services, one after the other."""

    def __init__(self, client: Client, recorder: Recorder, pace: Callable[[], Pace] = Pace) -> None:
        self._client, self._recorder, self._pace = client, recorder, pace
        self._paces: dict[str, Pace] = {}

    def publish(self, service: QuorumService, after: QuorumServiceStatus) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        about, before = service.metadata, service.status
        if after == before:
            return
        pace = self._paces.setdefault(about.uid, self._pace())
        if left := pace.left(WEIGHT, before, after):
            yield put_off(left)
            return
        began = pace.now()
        subject = Subject(QUORUM_SERVICE, about.name, about.uid, about.resource_version, about.namespace)
        try:
            written = write(self._client, subject, before, after)
        except (KubeError, ValueError) as error:
            raise Retry(f"the status of QuorumService {about.namespace}/{about.name}: {error}") from None
        if written is None:
            return
        pace.told(began)
        self._tell(service, after)
        yield from barriers(written)

    def _tell(self, service: QuorumService, after: QuorumServiceStatus) -> None:
        about = service.metadata
        regarding = Regarding(QUORUM_SERVICE, about.name, about.namespace, uid=about.uid)
        for one in of_service(service.status, after):
            kind = EventType.WARNING if one.warning else EventType.NORMAL
            self._recorder.record(regarding, one.reason, one.note, action=_ACTION, type=kind)
