"""What is sent to a machine over SSH, as a call that a plan can name: its step kind, whom it is about.

A request is the program that runs on the machine, with the request itself as a literal at its end.
"""

from __future__ import annotations

import ast
from typing import Any

import msgspec

from tests.crash.calls import Call, Sort

_MARK = b"\nmain("
_READS = ("facts", "fetch")
_ADMITS = "admit-"
OUTSIDE = "machines"


def request(sent: bytes) -> dict[str, Any]:
    """The request in what was sent; an error where there is none."""
    text = sent[sent.rindex(_MARK) + len(_MARK) :].decode().strip().removesuffix(")")
    return msgspec.json.decode(ast.literal_eval(text), type=dict[str, Any])


def recognise(machine: str, sent: bytes) -> Call:
    """The call that it is; what is no request of ours is told apart, and never counted."""
    try:
        found = request(sent)
    except (ValueError, SyntaxError, msgspec.DecodeError):
        return Call(Sort.APART, "something else", machine, outside=OUTSIDE)
    operation = str(found.get("op", ""))
    sort = Sort.READ if operation in _READS else Sort.WRITE
    purpose, about = _named(machine, str(found.get("id", "")))
    return Call(sort, f"{operation} {purpose}".strip(), about, outside=OUTSIDE)


def entry(sent: bytes) -> str:
    """The name of the command in the machine's journal; empty where it is about none."""
    return str(request(sent).get("id", ""))


def _named(machine: str, name: str) -> tuple[str, str]:
    """A control plane is asked on behalf of another machine: it is about that one."""
    purpose = name.rpartition("-")[0]
    if purpose.startswith(_ADMITS):
        return "admit", purpose.removeprefix(_ADMITS)
    return purpose, machine
