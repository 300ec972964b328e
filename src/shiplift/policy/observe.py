"""Gathers what there is to know: the settings live, the UpgradeConfig from the store, what the provider said
and what is still to be reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import structlog

from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.config import ConfigReader
from shiplift.kube.errors import KubeError
from shiplift.kube.store import Store
from shiplift.outside.outbox import Outbox
from shiplift.policy.config import Section
from shiplift.policy.model import View
from shiplift.policy.names import KEY
from shiplift.policy.providers.asking import Asker
from shiplift.policy.tell.record import RecordBook

log = structlog.get_logger(__name__)
T = TypeVar("T")


class Observer:
    """Looks; reads only."""

    def __init__(
        self, store: Store, reader: ConfigReader[Section], asker: Asker, outbox: Outbox, book: RecordBook
    ) -> None:
        self._store, self._reader, self._asker = store, reader, asker
        self._outbox, self._book = outbox, book
        self.config: Section | None = None
        """What was in force at the last look."""

    def observe(self, outcomes: Outcomes) -> View:
        looked = self._reader.look()
        self.config = looked.value
        # asked before the cluster is looked at: an answer is never older than what it is compared with
        asking = self._asker.state()
        snapshot = self._store.snapshot(UPGRADE_CONFIG)
        box, box_trouble = _readable(self._outbox.box)
        record, record_trouble = _readable(self._book.read)
        return View(
            config=looked.value,
            config_trouble=looked.trouble,
            asking=asking,
            current=snapshot.custom(UPGRADE_CONFIG, KEY),
            unsure=_unsure(
                bool(snapshot.behind(outcomes.unsettled, UPGRADE_CONFIG)),
                list(snapshot.undecodable(UPGRADE_CONFIG).values()),
            ),
            box=box,
            box_trouble=box_trouble,
            record=record,
            record_trouble=record_trouble or self._book.refused,
            outcomes=outcomes,
        )


def _unsure(stale: bool, undecodable: list[str]) -> str:
    if undecodable:
        return f"the UpgradeConfig cannot be read: {undecodable[0]}"
    return "what is known of the UpgradeConfig may be old" if stale else ""


def _readable(read: Callable[[], T]) -> tuple[T | None, str]:
    """What cannot be read now, and why, keeps nothing else from going on."""
    try:
        return read(), ""
    except KubeError as error:
        log.warning("policy state cannot be read", reason=str(error))
        return None, str(error)
