"""Boxes for the tests that want one. They take their time, so they are left to the whole run of the tests, as
clusters are: whoever wants one asks for `programs`, too."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.machine.box import Box, boxed

Boxes = Callable[..., Box]


@pytest.fixture
def boxes(tmp_path: Path, programs: dict[str, str]) -> Iterator[Boxes]:
    """A factory: machines' own file systems, each with an empty dpkg."""
    with contextlib.ExitStack() as stack:
        yield lambda megabytes=256: stack.enter_context(boxed(tmp_path / "box", megabytes))


@pytest.fixture
def box(boxes: Boxes) -> Box:
    return boxes()
