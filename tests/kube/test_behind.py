"""What a snapshot says of writes that the store does not show yet, whatever its watch says of itself."""

from __future__ import annotations

import math

import pytest

from shiplift.engine.barrier import Barrier, Gone, Seen
from shiplift.facts.kinds import CONFIG_MAP, NODE, POD
from shiplift.kube.store import Snapshot
from shiplift.kube.tables import Lookup, PodLookup, Table
from tests.kube.rows_for_tests import a_pod


def snapshot(*, undecodable: bool = False) -> Snapshot:
    """One pod, at revision 7, and no node; of both something was heard a moment ago."""
    pods, nodes = Table(PodLookup(), lambda *_: None), Table(Lookup(), lambda *_: None)
    pods.put(a_pod("u1"))
    pods.revision = 7
    pods.stale_until = nodes.stale_until = -math.inf
    if undecodable:
        pods.skip({"shop/other": "no number"})
    return Snapshot({POD: pods.freeze(), NODE: nodes.freeze()})


@pytest.mark.parametrize(
    ("barrier", "behind"),
    [
        (Seen(POD, 7), False),
        (Seen(POD, 8), True),
        (Gone(POD, "u1"), True),
        (Gone(POD, "u2"), False),
        (Seen(CONFIG_MAP, 99), False),
    ],
)
def test_a_kind_whose_rows_lack_what_a_write_was_answered_with_is_behind(
    barrier: Barrier, behind: bool
) -> None:
    assert snapshot().behind((barrier,), POD) == ((POD,) if behind else ())


def test_what_else_cannot_be_decoded_puts_no_deletion_in_doubt() -> None:
    assert snapshot(undecodable=True).behind((Gone(POD, "u2"),)) == ()


def test_rows_that_are_old_are_behind_though_nothing_was_written() -> None:
    table = Table(PodLookup(), lambda *_: None)
    assert Snapshot({POD: table.freeze()}).behind((), POD) == (POD,)


def test_only_what_is_asked_about_counts() -> None:
    assert snapshot().behind((Seen(POD, 8),)) == (POD,)
    assert snapshot().behind((Seen(POD, 8),), NODE) == ()
