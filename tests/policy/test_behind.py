"""A watch that brings nothing for minutes, and that nobody has noticed: what we have just written is not
there to be seen. Nothing is done on what was so before."""

from __future__ import annotations

import math
from typing import cast

import pytest

from shiplift.engine.barrier import Barrier, Gone, Seen
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import UPGRADE_CONFIG, Kind
from shiplift.kube.config import ConfigReader, Looked
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.tables import Lookup, Table
from shiplift.outside.letters import Box
from shiplift.outside.outbox import Outbox
from shiplift.policy.config import Section
from shiplift.policy.model import Asking, Record, View
from shiplift.policy.observe import Observer
from shiplift.policy.providers.asking import Asker
from shiplift.policy.tell.record import RecordBook
from tests.policy.views import HTTP, answered, policy, row, steps


class Silent:
    """Everything that is looked at; the store has what there was before our last write."""

    refused = ""

    def __init__(self, *, there: bool) -> None:
        self.table = Table(Lookup(), lambda *_: None)
        self.table.stale_until = -math.inf
        if there:
            self.table.put(row(policy()))

    def snapshot(self, _: Kind) -> Snapshot:
        return Snapshot({UPGRADE_CONFIG: self.table.freeze()})

    def look(self) -> Looked[Section]:
        return Looked(HTTP)

    def state(self) -> Asking:
        return answered(None if self.table.rows else policy())

    def box(self) -> Box:
        return Box()

    def read(self) -> Record:
        return Record("HTTP")


def seen(there: bool, *unsettled: Barrier) -> View:
    all_ = Silent(there=there)
    observer = Observer(
        cast("Store", all_),
        cast("ConfigReader[Section]", all_),
        cast("Asker", all_),
        cast("Outbox", all_),
        cast("RecordBook", all_),
    )
    return observer.observe(Outcomes(unsettled=unsettled))


@pytest.mark.parametrize(
    ("there", "does", "barrier"),
    [(False, "Create", Seen(UPGRADE_CONFIG, 9)), (True, "Delete", Gone(UPGRADE_CONFIG, "u1"))],
)
def test_what_was_done_and_is_not_shown_is_not_done_again(there: bool, does: str, barrier: Barrier) -> None:
    assert steps(seen(there)) == [does]
    behind = seen(there, barrier)
    assert behind.unsure == "what is known of the UpgradeConfig may be old"
    assert steps(behind) == []
