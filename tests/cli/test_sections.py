"""What the layers tell, put together: every section once, and what is to be known of all of them above."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from rich.text import Text

from shiplift.cli import sections
from shiplift.cli.output import CommandError
from shiplift.cli.sections import Seen, Told
from shiplift.face.parts import StatusPart
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.view.section import Advice, Arrival
from shiplift.view.values import Heard
from tests.cli.test_layout import drawn


class Said(msgspec.Struct, frozen=True):
    text: str
    arrival: Arrival
    stalled: str = ""


def look(objects: Any, _now: int, _heard: Heard | None) -> Said | None:
    return next(iter(objects(kinds.NODE_ROLLOUT)), None)


def part(name: str) -> StatusPart[Said]:
    return StatusPart(
        reads=(kinds.NODE_ROLLOUT,),
        look=look,
        changes=lambda before, now: [now.text] if before != now else [],
        picture=lambda one, *_: Text(one.text),
        absent=Advice(f"there is no {name}", f"make a {name}"),
        done=f"{name} is done",
        unfinished=Advice(f"left before {name} was done", "wait"),
        given_up=lambda one: Advice(f"{name} will not be", one.text),
        data=lambda one: {"text": one.text},
    )


def said(name: str, arrival: Arrival | None, text: str = "") -> Told:
    return Told(name, PARTS[name], None if arrival is None else Said(text or f"{name} here", arrival))


PARTS = {name: part(name) for name in ("one", "two")}
NOT_YET, MOVED, GIVEN_UP = Arrival.NOT_YET, Arrival.MOVED, Arrival.GIVEN_UP


@pytest.mark.parametrize(
    ("silent", "stale", "above"),
    [
        (None, False, ""),
        (7300, False, "no operator has been heard of for 2 h; this is how it was\n"),
        (None, True, "the API server does not answer; this is how it was\n"),
        (7300, True, "the API server does not answer; this is how it was\n"),
    ],
)
def test_what_holds_for_all_is_told_once_above_the_sections(
    silent: int | None, stale: bool, above: str
) -> None:
    seen = Seen((said("one", MOVED), said("two", None)), silent, stale)
    assert drawn(sections.picture(seen, None), 80) == f"{above}one here\n\nthere is no two\n"


@pytest.mark.parametrize(
    ("arrivals", "stale", "over", "message"),
    [
        ((NOT_YET, MOVED), False, False, "left before one was done"),
        ((MOVED, NOT_YET), False, False, "left before two was done"),
        ((MOVED, MOVED), False, True, ""),
        ((MOVED, MOVED), True, False, "left before one was done"),
        ((NOT_YET, GIVEN_UP), False, True, "two will not be"),
        ((MOVED, None), False, True, "there is no two"),
    ],
)
def test_who_waits_for_the_end_waits_for_all_layers(
    arrivals: tuple[Arrival | None, Arrival | None], stale: bool, over: bool, message: str
) -> None:
    seen = Seen((said("one", arrivals[0]), said("two", arrivals[1])), None, stale)
    assert sections.is_over(seen) is over
    with pytest.raises(CommandError, match=message) if message else contextlib.nullcontext():
        sections.check_moved(seen)


@pytest.mark.parametrize(("silent", "doubt"), [(16, ""), (None, "nodes run v1.37.0"), (None, "")])
def test_that_all_is_done_counts_only_while_an_operator_says_so(silent: int | None, doubt: str) -> None:
    done = Seen((said("one", MOVED),), silent, stale=False, doubt=doubt)
    sure = silent is None and not doubt
    assert sections.is_over(done) is sure
    with contextlib.nullcontext() if sure else pytest.raises(CommandError, match="left before one was done"):
        sections.check_moved(done)
    assert sections.is_over(Seen((said("one", GIVEN_UP),), silent, stale=False, doubt=doubt))


def test_what_speaks_against_the_end_is_told_once() -> None:
    before, now = seen(said("one", MOVED)), Seen((said("one", MOVED),), None, False, "nodes run v1.37.0")
    assert sections.changes(before, now) == ["not done: nodes run v1.37.0"]
    assert sections.changes(now, now) == []
    assert "nodes run v1.37.0; this is how it was" in drawn(sections.picture(now, None), 80)


def seen(*told: Told, stale: bool = False, silent: int | None = None) -> Seen:
    return Seen(told, silent, stale)


AWAY = ["no operator runs: nothing happens until one does"]


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        (None, seen(said("one", NOT_YET)), ["one here"]),
        (seen(said("one", NOT_YET)), seen(said("one", NOT_YET)), []),
        (seen(said("one", NOT_YET)), seen(said("one", None)), ["there is no one"]),
        (seen(said("one", None)), seen(said("one", None)), []),
        (None, seen(said("one", None)), ["there is no one"]),
        (
            seen(said("one", NOT_YET)),
            seen(said("one", NOT_YET), said("two", MOVED, "done")),
            ["two: done"],
        ),
        (seen(said("one", MOVED)), seen(said("one", MOVED), stale=True), ["the API server does not answer"]),
        (seen(said("one", MOVED), stale=True), seen(said("one", MOVED), stale=True), []),
        (seen(said("one", NOT_YET)), seen(said("one", NOT_YET), silent=16), AWAY),
        (seen(said("one", NOT_YET), silent=16), seen(said("one", NOT_YET), silent=17), []),
        (
            seen(said("one", NOT_YET), silent=16),
            seen(said("one", NOT_YET)),
            ["an operator runs again"],
        ),
        (
            seen(said("one", NOT_YET)),
            seen(said("one", NOT_YET), stale=True, silent=16),
            ["the API server does not answer"],
        ),
    ],
)
def test_each_change_is_told_once(before: Seen | None, now: Seen, lines: list[str]) -> None:
    assert sections.changes(before, now) == lines


def test_a_layer_without_anything_to_tell_is_left_out_until_it_has_begun() -> None:
    def nothing(_kind: Kind) -> Sequence[Any]:
        return ()

    assert sections.told(PARTS, nothing, 0, None) == ()
    assert [one.layer for one in sections.told(PARTS, nothing, 0, None, {"two"})] == ["two"]


def test_where_nothing_conducts_each_layer_that_is_installed_says_how_it_would_begin() -> None:
    parts = sections.parts_of_layers()
    few = {name: parts[name] for name in ("workloads", "nodes")}
    assert sections.absent(few).hint == (
        "WorkloadMigration: shiplift migrate --to VERSION makes one;"
        " NodeRollout: kubectl apply -f rollout.yaml makes one, docs/nodes.md shows how"
    )
    assert sections.absent(parts).hint == "shiplift upgrade --to VERSION begins an upgrade"
