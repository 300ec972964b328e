"""One plan of those that `make crash LAYER=quorum` runs all of, and some of its mutants."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash import mutants as bugs
from tests.crash.quorum import mutants
from tests.crash.quorum.plans import Fault, Plan, When
from tests.crash.quorum.running import ground
from tests.quorum.conftest import Programs, minio_programs

__all__ = ["minio_programs"]


@pytest.mark.long(seconds=260)
@pytest.mark.crash
def test_an_operator_that_is_killed_while_servers_switch_leaves_a_swap_that_the_next_one_ends(
    minio_programs: Programs, clusters_folder: Path, tmp_path: Path
) -> None:
    with ground(clusters_folder, tmp_path) as place:
        result = place.perform(Plan(When.SWITCH, Fault.OPERATOR_KILLED))
    assert (result.found, result.fired) == ((), True), result


def test_every_mutant_fits_the_code() -> None:
    bugs.check(mutants.ALL)
    assert len(mutants.ALL) >= 12


@pytest.mark.parametrize("mutant", mutants.ALL[::6], ids=lambda one: one.name)
def test_a_bug_is_caught(mutant: bugs.Mutant, tmp_path: Path) -> None:
    assert mutants.caught(mutant, tmp_path / "code")
