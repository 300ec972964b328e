"""Why an operator that leads does nothing is told on its Lease: what it sees is old, or it may not write."""

from __future__ import annotations

import pytest

from shiplift.facts.kinds import NODE, POD, Kind
from shiplift.kube.store import KindHealth, State
from shiplift.operator.process import blindness, unseen

DENIED = 'cannot patch resource "noderollouts/status" in API group "shiplift.dev" at the cluster scope'


def health(kind: Kind, state: State, error: str = "") -> KindHealth:
    return KindHealth(kind, state, 1, 0.0, error, 0, True)


@pytest.mark.parametrize(
    ("states", "denied", "why"),
    [
        ([health(POD, State.LIVE)], "", ""),
        ([health(POD, State.SYNCING)], "", ""),
        (
            [health(POD, State.STALE, "403 Forbidden"), health(NODE, State.STALE)],
            "",
            "what is known of Node, Pod is old; 403 Forbidden",
        ),
        ([health(POD, State.LIVE)], DENIED, f"it may not write what is its own: {DENIED}"),
        ([health(POD, State.STALE)], DENIED, "what is known of Pod is old"),
    ],
)
def test_what_is_told(states: list[KindHealth], denied: str, why: str) -> None:
    assert blindness(states, denied) == why


def test_what_keeps_a_start_from_getting_on_is_named() -> None:
    states = [
        health(POD, State.SYNCING),
        health(NODE, State.SYNCING, "403 Forbidden: nodes"),
        health(POD, State.LIVE),
    ]
    assert unseen(states) == ("Node, Pod", "403 Forbidden: nodes")
    assert unseen([health(POD, State.SYNCING)]) == ("Pod", "no answer yet")
