"""`status -o json`: programs rely on its shape, so it changes only together with this test and its page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from shiplift.cli.output import Format
from shiplift.cli.sections import Seen, Told
from shiplift.cli.status_data import Data, document, text
from shiplift.view.values import Heard
from shiplift.workloads.face.migration import migration_view
from shiplift.workloads.face.status import STATUS
from tests.workloads.face.migrations import BUSY, NEW, NOW, at, migration, progress

GOLDEN = Path(__file__).parent / "golden" / "status.json"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "status.md"
LAST = {
    "target": "v1.35.4",
    "outcome": "Moved",
    "startTime": at(0),
    "completeTime": at(10),
    "workloads": progress(5, 5),
    "pods": progress(12, 12),
    "moves": 11,
}
STALLED = BUSY | {"needs": "no target node has room", "blocked": 1, "last": LAST}
RUNNING = {key: value for key, value in BUSY.items() if key != "conditions"}


def a_document(status: dict[str, Any], heard: Heard | None = None) -> Data:
    view = migration_view(migration(status), NOW, heard)
    seen = Seen((Told("workloads", STATUS, view),), heard.silent(NOW) if heard else None, stale=False)
    return document(seen, heard, NOW)


def test_its_shape_is_as_before() -> None:
    assert text(a_document(STALLED, Heard(NOW - 1)), Format.JSON) == GOLDEN.read_text()


def test_yaml_says_the_same() -> None:
    found = a_document(STALLED, Heard(NOW - 1))
    assert yaml.safe_load(text(found, Format.YAML)) == json.loads(text(found, Format.JSON))


@pytest.mark.parametrize(
    ("heard", "running", "silent"),
    [(None, None, None), (Heard(NOW - 1), True, None), (Heard(NOW - 20), False, 20)],
)
def test_whether_an_operator_runs_is_told_where_anybody_knows(
    heard: Heard | None, running: bool | None, silent: int | None
) -> None:
    told = a_document(STALLED, heard)["operator"]
    assert (told["running"], told["silentSeconds"]) == (running, silent)


@pytest.mark.parametrize(("age", "told"), [(1, "no fence"), (20, "")])
def test_why_it_does_not_act_is_told_while_there_is_an_operator(age: int, told: str) -> None:
    heard = Heard(NOW - age, not_acting="no fence")
    assert a_document(STALLED, heard)["operator"]["notActing"] == told


def test_an_end_that_is_expected_is_told_in_seconds() -> None:
    told = a_document(RUNNING)["layers"]["workloads"]
    assert told["eta"] == {"likelySeconds": 900, "earliestSeconds": 600, "latestSeconds": 8400}
    assert told["target"] == NEW


def fields(value: Any, path: str = "") -> Iterator[str]:
    """The names of all values, with those of what they are in."""
    if isinstance(value, dict):
        for key, one in cast("Data", value).items():
            yield from fields(one, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from fields(cast("list[Data]", value)[0], path)
    else:
        yield path


def test_every_field_is_on_the_page_and_nothing_else_is() -> None:
    page = PAGE.read_text()
    head, _, layers = page.partition("## `layers.workloads`")
    own = layers.partition("## `layers.")[0]
    found = {*fields(a_document(STALLED)), *fields(a_document(RUNNING))}
    of_layer = {one.removeprefix("layers.workloads.") for one in found if one.startswith("layers.")}
    assert named(head) - {"layers"} == found - {one for one in found if one.startswith("layers.")}
    assert named(own) - {"nodes", "waiting"} == of_layer


def named(page: str) -> set[str]:
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return {one for cell in cells for one in re.findall(r"`([^`]+)`", cell)}
