"""Writes what there is to tell: `status.policy` of the UpgradeConfig, the record, and Events."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from shiplift.api.upgrade import Policy, UpgradeConfig
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts.kinds import CONFIG_MAP, UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.config import NAME as CONFIG
from shiplift.kube.errors import KubeError
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Subject, barriers, write
from shiplift.policy.model import Record, Syncing
from shiplift.policy.tell.record import RecordBook, is_refusal

_ACTION = "Sync"


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(self, client: Client, recorder: Recorder, book: RecordBook, namespace: str) -> None:
        self._client, self._recorder, self._book = client, recorder, book
        self._namespace, self._alarm = namespace, ""

    def publish(self, decision: Syncing) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision. What cannot be written keeps
        nothing else from being told."""
        failed: list[KubeError] = []
        try:
            if decision.record is not None:
                self._record(decision.record)
        except KubeError as error:
            failed.append(error)
        self._warn(decision.alarm)
        try:
            if decision.told is not None:
                yield from self._tell(*decision.told)
        except KubeError as error:
            failed.append(error)
        if failed:
            raise Retry(f"cannot be written: {'; '.join(map(str, failed))}")

    def _warn(self, alarm: str) -> None:
        """Once, for as long as it is so."""
        if alarm and alarm != self._alarm:
            self._say("PolicySyncFailed", alarm, EventType.WARNING)
        self._alarm = alarm

    def _say(self, reason: str, note: str, type_: EventType) -> None:
        about = Regarding(CONFIG_MAP, CONFIG, self._namespace)
        self._recorder.record(about, reason, note, action=_ACTION, type=type_)

    def _record(self, record: Record) -> None:
        self._book.write(record)
        if record.trouble:
            self._say("PolicySyncFailed", record.trouble, EventType.WARNING)
        elif record.provider:
            self._say("PolicySynced", f"policies come from {record.provider}", EventType.NORMAL)

    def _tell(self, config: UpgradeConfig, policy: Policy | None) -> Iterator[Barrier | Requeue]:
        about = config.metadata
        subject = Subject(UPGRADE_CONFIG, about.name, about.uid, about.resource_version)
        after = structs.replace(config.status, policy=policy)
        try:
            written = write(self._client, subject, config.status, after)
        except KubeError as error:
            if is_refusal(error):
                self._refused(config, error)
            raise
        yield from barriers(written)

    def _refused(self, config: UpgradeConfig, error: KubeError) -> None:
        """A webhook, or a right that is missing: the status itself cannot say so."""
        about = Regarding(UPGRADE_CONFIG, config.metadata.name, uid=config.metadata.uid)
        note = f"what is told of its policy cannot be written: {error}"
        self._recorder.record(about, "StatusRefused", note, action=_ACTION, type=EventType.WARNING)
