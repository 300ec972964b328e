"""What the README counts and lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import shiplift
from shiplift.operator.layers import LAYERS
from tests.crash import layers as crash
from tests.crash.quorum import mutants, plans
from tests.docs.clone import ROOT

README = (ROOT / "README.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", re.MULTILINE)
SUITES = [*crash.ALL, *crash.COMMANDS]


def test_every_layer_has_its_row_and_its_guide() -> None:
    rows = dict(re.findall(r"^\| \[(\w+)\]\((docs/\w+\.md)\) \|", README, re.MULTILINE))
    assert set(rows) == set(LAYERS)
    assert "Nine layers are here." in README
    assert len(LAYERS) == 9
    assert not [guide for guide in rows.values() if not (ROOT / guide).is_file()]


def test_every_package_is_where_things_are() -> None:
    table = README.partition("\n## Where things are\n")[2].partition("\n## ")[0]
    told = {name for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) for name in _code(cell)}
    packages = {one.parent.name for one in Path(shiplift.__file__).parent.glob("*/__init__.py")}
    assert packages - told == set()


def _code(cell: str) -> list[str]:
    return [span.removeprefix("src/shiplift/") for span in re.findall("`([^`]+)`", cell)]


@pytest.mark.parametrize("name", SUITES)
def test_what_is_interrupted_is_counted(name: str) -> None:
    suite = crash.suite(name)
    assert _counted()[name] == (len(suite.scenarios), len(suite.mutants))


def test_what_strikes_quorum_services_is_counted() -> None:
    assert _counted().keys() == {*SUITES, *crash.OWN}
    assert _counted()["quorum"] == (len(plans.ALL), len(mutants.ALL))


def _counted() -> dict[str, tuple[int, int]]:
    return {name: (int(scenarios), int(mutants)) for name, scenarios, mutants in ROW.findall(README)}
