"""What is sent to machines is told apart by what it does, and to which machine."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shiplift.machines.ssh import runner
from tests.crash.calls import Sort
from tests.crash.machines import calls

PROGRAM = Path(runner.__file__).read_text()


def sent(**request: object) -> bytes:
    """As `Door` sends it."""
    text = msgspec.json.encode(request).decode()
    return f"{PROGRAM}\n\nmain({text!r})\n".encode()


@pytest.mark.parametrize(
    ("request_", "sort", "step", "about"),
    [
        ({"op": "facts"}, Sort.READ, "facts", "cp-1"),
        ({"op": "claim", "mark": {"name": 'it\'s "mine"'}}, Sort.WRITE, "claim", "cp-1"),
        ({"op": "record", "id": "software-2"}, Sort.WRITE, "record software", "cp-1"),
        ({"op": "begin", "id": "init-1", "commands": [["a\\b"]]}, Sort.WRITE, "begin init", "cp-1"),
        ({"op": "ask", "id": "admit-w-1-3"}, Sort.WRITE, "ask admit", "w-1"),
    ],
)
def test_a_request_is_recognised(request_: dict[str, object], sort: Sort, step: str, about: str) -> None:
    found = calls.recognise("cp-1", sent(**request_))
    assert (found.sort, found.step, found.about) == (sort, step, about)
    assert calls.request(sent(**request_)) == request_
    assert calls.entry(sent(**request_)) == request_.get("id", "")


@pytest.mark.parametrize("given", [b"", b"ls\n", b"x\n\nmain('{')\n", b"x\n\nmain(1 +)\n", PROGRAM.encode()])
def test_what_is_no_request_is_apart(given: bytes) -> None:
    assert calls.recognise("cp-1", given).sort is Sort.APART
