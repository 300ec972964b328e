"""Gathers what there is to know: the UpgradeConfig from the store, the outbox, and the silences that we
hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import structlog

from shiplift.api.upgrade import UpgradeConfig
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.errors import KubeError
from shiplift.kube.store import Store
from shiplift.notify.model import View
from shiplift.notify.names import KEY
from shiplift.notify.silences import Silences
from shiplift.outside.letters import Box

log = structlog.get_logger(__name__)


class Observer:
    """Looks; reads only."""

    def __init__(self, store: Store, box: Callable[[], Box], silences: Silences) -> None:
        self._store, self._box, self._silences = store, box, silences

    def observe(self, outcomes: Outcomes) -> View:
        snapshot = self._store.snapshot(UPGRADE_CONFIG)
        row = snapshot.custom(UPGRADE_CONFIG, KEY)
        box, trouble = self._readable()
        return View(
            upgrade=cast("UpgradeConfig", row.object) if row is not None else None,
            unsure=bool(snapshot.stale(UPGRADE_CONFIG) or snapshot.undecodable(UPGRADE_CONFIG)),
            box=box,
            trouble=trouble,
            held=self._silences.all(),
            outcomes=outcomes,
        )

    def _readable(self) -> tuple[Box | None, str]:
        """What cannot be read now keeps nothing else from going on, and is told."""
        try:
            return self._box(), ""
        except KubeError as error:
            log.warning("outbox cannot be read", reason=str(error))
            return None, f"nobody can be told anything: {error}"
