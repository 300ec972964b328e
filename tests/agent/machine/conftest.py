"""A box for each test that wants one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.machine.box import Box, boxed


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A machine's own file system, with an empty dpkg."""
    with boxed(tmp_path / "box") as made:
        yield made
