"""A watch that brings nothing for minutes, and that nobody has noticed: what we have just written is not
there to be seen. Nothing is done on what was so before."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from shiplift.engine.barrier import Barrier, Gone, Seen
from shiplift.engine.step import Answer, Outcomes
from shiplift.facts.kinds import UPGRADE_CONFIG, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.config import ConfigReader, Looked
from shiplift.kube.errors import NotFound
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.tables import Lookup, Table
from shiplift.outside.letters import Box
from shiplift.outside.outbox import Outbox
from shiplift.policy.act import Actor
from shiplift.policy.config import Section
from shiplift.policy.model import Asking, Record, View
from shiplift.policy.observe import Observer
from shiplift.policy.providers.asking import Asker
from shiplift.policy.providers.ocm import OcmProvider
from shiplift.policy.steps import Create
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


class Server:
    """Has an UpgradeConfig that somebody made by hand, or none; an apply takes over what says the same."""

    def __init__(self, *, there: bool) -> None:
        self.there, self.applied = there, 0

    def get(self, *_: Any) -> dict[str, Any]:
        if not self.there:
            raise NotFound("not found", status=404)
        return {"metadata": {"uid": "by-hand", "resourceVersion": "3"}}

    def apply(self, *_: Any, **__: Any) -> Written:
        self.applied += 1
        return Written({}, Seen(UPGRADE_CONFIG, 9))


@pytest.mark.parametrize(("there", "answer"), [(True, Answer.REFUSED), (False, Answer.OK)])
def test_what_was_made_by_hand_and_is_not_shown_is_not_taken_over(there: bool, answer: Answer) -> None:
    server, nobody = Server(there=there), None
    actor = Actor(
        cast("Client", server),
        cast("Asker", nobody),
        cast("Outbox", nobody),
        cast("OcmProvider", nobody),
        lambda: HTTP,
    )
    assert actor.act(Create("HTTP", policy())).answer is answer
    assert server.applied == (0 if there else 1)
