"""The kernel's limit of notices is raised while there are machines, and put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiplift.local.machines.notices import ENOUGH, give_back, widen


@pytest.fixture
def limit(tmp_path: Path) -> Path:
    path = tmp_path / "limit"
    path.write_text("128\n")
    return path


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "run" / "kept"


def test_it_is_raised_and_put_back_when_the_last_machines_are_gone(limit: Path, kept: Path) -> None:
    widen(limit, kept)
    widen(limit, kept)
    assert int(limit.read_text()) == ENOUGH
    give_back(lambda: True, limit, kept)
    assert int(limit.read_text()) == ENOUGH, "others are left"
    give_back(lambda: False, limit, kept)
    assert int(limit.read_text()) == 128
    give_back(lambda: False, limit, kept)
    assert int(limit.read_text()) == 128


def test_a_limit_that_is_high_enough_is_left_alone(limit: Path, kept: Path) -> None:
    limit.write_text("8192\n")
    widen(limit, kept)
    give_back(lambda: False, limit, kept)
    assert limit.read_text() == "8192\n"


def test_what_somebody_has_set_meanwhile_stays(limit: Path, kept: Path) -> None:
    widen(limit, kept)
    limit.write_text("4096\n")
    give_back(lambda: False, limit, kept)
    assert (limit.read_text(), kept.exists()) == ("4096\n", False)
