"""The witness counts moves and sees what went before its turn, whatever the operator says."""

from __future__ import annotations

from shiplift.demo.witness import Change, MoveWitness, Verdict, judge
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from tests.view.rows import make, node
from tests.view.rows import pod as row

NEEDS = {"web": ("db",)}


def pod(app: str, number: int, on: str = "", *, ready: bool = False, deleting: int = 0) -> Pod:
    name = f"{app}-{number}"
    return row(name, on, labels=Labels(app=app), ready=ready, deleting=deleting)


def move(app: str, number: int) -> list[Change]:
    """An old pod of the app goes, and a new one of the next number comes to the new node and gets ready."""
    old, fresh = pod(app, number, "old", ready=True), pod(app, number + 1)
    going = pod(app, number, "old", ready=True, deleting=1)
    bound, ready = pod(app, number + 1, "new"), pod(app, number + 1, "new", ready=True)
    return [(old, going), (going, None), (None, fresh), (fresh, bound), (bound, ready)]


START: list[Change] = [
    (None, pod("db", 0, "old", ready=True)),
    (None, pod("web", 0, "old", ready=True)),
]


def verdict(*changes: Change) -> Verdict:
    return judge([*START, *changes], len(START), NEEDS, frozenset({"new"}))


def test_in_order_and_once_each() -> None:
    seen = verdict(*move("db", 0), *move("web", 0))
    assert seen == Verdict(pods=2, moves=2, early=())
    assert seen.once_each
    assert not seen.broken
    assert dict(seen.told) == {
        "moves": "2 for 2 pods: each once",
        "order": "kept: each after all that it needs",
        "left": "nothing: no label, budget or placement of ours",
    }


def test_a_pod_that_leaves_before_what_it_needs_is_ready_there_is_early() -> None:
    not_ready_yet = move("db", 0)[:-1]
    assert verdict(*not_ready_yet, *move("web", 0)).early == ("web-0", "web-1")
    assert verdict(*not_ready_yet, move("web", 0)[0]).early == ("web-0",)
    early = verdict(*not_ready_yet, *move("web", 0))
    assert early.broken
    assert dict(early.told)["order"] == "not kept by web-0, web-1"


def test_what_has_arrived_stays_so_when_a_pod_of_it_flaps() -> None:
    there = pod("db", 1, "new", ready=True)
    flap: Change = (there, pod("db", 1, "new"))
    assert verdict(*move("db", 0), flap, *move("web", 0)).early == ()


def test_a_pod_that_moves_twice_counts_twice() -> None:
    again = move("db", 1)
    seen = verdict(*move("db", 0), *again)
    assert (seen.pods, seen.moves, seen.once_each) == (2, 2, True)
    seen = verdict(*move("db", 0), *again, *move("web", 0))
    assert (seen.moves, seen.once_each) == (3, False)


def test_only_pods_are_written_down_and_nothing_after_the_verdict() -> None:
    witness = MoveWitness(NEEDS, ["new"])
    for old, new in START:
        witness.heard(kinds.POD, old, new)
    witness.begin()
    witness.heard(kinds.NODE, None, node("new"))
    for old, new in [*move("db", 0), *move("web", 0)]:
        witness.heard(kinds.POD, old, new)
    assert witness.verdict() == Verdict(pods=2, moves=2, early=())
    witness.heard(kinds.POD, None, make(Pod, "late", node="new"))
    assert witness.verdict() == Verdict(pods=2, moves=2, early=())
