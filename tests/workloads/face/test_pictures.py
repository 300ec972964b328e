"""The picture that a terminal has room for: as much as fits, no value broken, numbers that agree."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from shiplift.cli import watching
from shiplift.cli.sections import Seen, Told
from shiplift.cli.status import fitting, on_screen
from shiplift.workloads.face.migration import migration_view
from shiplift.workloads.face.status import STATUS
from tests.workloads.face.migrations import BUSY, NOW, SHOP, migration, progress, waiting

GOLDEN = Path(__file__).parent / "golden"
SIZES = [(50, 24), (80, 24), (160, 40)]


def picture(status: dict[str, Any], width: int, height: int, **spec: Any) -> list[str]:
    console = Console(
        width=width, height=height, file=io.StringIO(), no_color=True, highlight=False, force_terminal=False
    )
    view = migration_view(migration(status, spec), NOW)
    drawn = fitting(console, Seen((Told("workloads", STATUS, view),), None, stale=False), 20)
    with console.capture() as capture:
        console.print(drawn)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(("name", "status"), [("shop", SHOP), ("busy", BUSY)])
def test_it_is_drawn_as_before(name: str, status: dict[str, Any], width: int, height: int) -> None:
    drawn = "".join(f"{line}\n" for line in picture(status, width, height))
    assert drawn == (GOLDEN / f"watch-{name}-{width}x{height}.txt").read_text()


@pytest.mark.parametrize(("width", "height"), [*SIZES, (40, 24), (200, 20)])
@pytest.mark.parametrize("status", [SHOP, BUSY])
def test_it_fits_and_shows_who_waits(status: dict[str, Any], width: int, height: int) -> None:
    lines = picture(status, width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    first = "StatefulSet shop/db" if status is SHOP else "Deployment shop/cache"
    assert any(line.startswith(first) for line in lines)


def test_all_that_wait_are_shown_where_fewer_words_make_room() -> None:
    lines = picture(SHOP, 50, 24)
    for name in ("StatefulSet shop/db", "Deployment shop/api", "Deployment shop/web"):
        assert name in lines
    assert not any(" more" in line for line in lines)


def test_room_that_is_left_is_used() -> None:
    """A row more would not fit."""
    listed = [waiting(f"web-{number}", "Held", "waits for StatefulSet shop/db") for number in range(40)]
    status = SHOP | {"progress": progress(0, 40), "workloads": listed, "waves": [], "needs": ""}
    for width, height, of_a_row in ((50, 24, 2), (80, 24, 1), (160, 20, 1)):
        assert height - of_a_row < len(picture(status, width, height)) <= height


VALUES = (
    "for 60 s",
    "for 30 min",
    "12 min",
    "2/5 workloads",
    "80/240 pods",
    "1,234 evictions",
    "3 on v1.35.4",
    "2 on v1.36.3 (target)",
    "wave 4: 0/5",
    "wave 5: 0/5",
    "and 4 more",
    "StatefulSet shop/db",
    "WorkloadOrder shop/shop",
    "needs 2 of 2 pods",
    "0 of 3 pods",
    "`shiplift explain sts/db -n shop`",
)


@pytest.mark.parametrize("status", [SHOP, BUSY])
@pytest.mark.parametrize("width", [80, 90, 100, 120])
def test_no_value_is_broken(status: dict[str, Any], width: int) -> None:
    whole, drawn = ("\n".join(picture(status, columns, 100)) for columns in (1000, width))
    assert {value: drawn.count(value) for value in VALUES} == {value: whole.count(value) for value in VALUES}


NUMBER = r"(\d+)/(\d+)"


def test_the_numbers_of_one_picture_agree() -> None:
    text = "\n".join(picture(SHOP, 160, 40))
    match = re.search(rf"{NUMBER} workloads, {NUMBER} pods", text)
    assert match is not None
    done, total, moved, pods = map(int, match.groups())
    rows = [tuple(map(int, found)) for found in re.findall(rf"(?:Blocked|Held) +{NUMBER}", text)]
    waves = [tuple(map(int, found)) for found in re.findall(rf"wave \d: {NUMBER}", text)]
    assert total - done == len(rows)
    assert f"{total - done} of {total} workloads left" in text
    assert (sum(one[0] for one in waves), sum(one[1] for one in waves)) == (done, total)
    assert pods - moved == sum(wanted - there for there, wanted in rows)


def test_workloads_in_no_wave_are_counted() -> None:
    """Of five, two are in waves; the others wait for a cycle."""
    waves = [{"number": 0, "workloads": progress(2, 2)}]
    text = "\n".join(picture(SHOP | {"waves": waves}, 160, 40))
    assert (
        "Waves      1 of 1 done, 3 workloads in none: they wait for a cycle, or for what is missing" in text
    )


def test_what_has_to_happen_first_is_said_once() -> None:
    text = "\n".join(picture(SHOP, 160, 40))
    assert "Needs      somebody who helps StatefulSet shop/db\n" in text
    assert text.count("never lets one go") == 1


def test_that_it_is_paused_is_said_once_and_how_to_go_on() -> None:
    lines = picture(SHOP | {"needs": "paused: `shiplift resume` goes on"}, 160, 40, paused=True)
    assert lines[0].startswith("Workloads  paused on the way to v1.36.3")
    assert not any(line.startswith("Needs") for line in lines)
    assert "hint: `shiplift resume` goes on" in lines


LAST = {
    "target": "v1.36.3",
    "outcome": "Moved",
    "startTime": "2026-05-01T09:00:00Z",
    "completeTime": "2026-05-01T09:20:00Z",
    "workloads": progress(5, 5),
    "pods": progress(12, 12),
    "moves": 12,
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "to v1.36.3, moved 5/5 workloads, 12/12 pods, 12 evictions in 20 min, 40 min ago"),
        (
            {"outcome": "Aborted", "workloads": progress(2, 5)},
            "to v1.36.3, aborted after 2/5 workloads, 12/12 pods, 12 evictions in 20 min, 40 min ago",
        ),
        (
            {"outcome": "Deleted", "workloads": progress(2, 5)},
            "to v1.36.3, ended by the deletion of its WorkloadMigration after 2/5 workloads, 12/12 pods,"
            " 12 evictions in 20 min, 40 min ago",
        ),
    ],
)
def test_what_the_last_move_was_is_told_when_nothing_moves(changed: dict[str, Any], said: str) -> None:
    lines = picture({"observedGeneration": 2, "last": LAST | changed}, 160, 40)
    assert lines[0] == "Workloads  nothing to move"
    assert f"Last       {said}" in lines


def test_an_interrupt_leaves_the_last_picture_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Seen((Told("workloads", STATUS, migration_view(migration(SHOP), NOW)),), None, stale=False)
    screen = io.StringIO()
    console = Console(width=100, height=30, file=screen, no_color=True, force_terminal=False)

    def interrupted(_console: Console, look: Any, draw: Any, _done: Any) -> Seen:
        console.print(draw(look(), 0))
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "on_screen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        on_screen(console, lambda: seen, 20, lambda _: False)
    *drawn, way_out = screen.getvalue().splitlines()
    assert way_out.strip() == "q or Ctrl-C leaves"
    assert len(drawn) < 30
    assert capsys.readouterr().out.startswith("Workloads  moving to v1.36.3")
