"""What this layer writes on StatefulSets. Labels tell people what is swapped; the annotation has all that it
takes to go on, or to put everything back, and is written in the same call as what it is about."""

from __future__ import annotations

from typing import Any

import msgspec

SWAP = "quorum.shiplift.dev/swap"
"""The annotation."""
OLD_VERSION = "quorum.shiplift.dev/old-version"
NEW_VERSION = "quorum.shiplift.dev/new-version"
FINALIZER = "quorum.shiplift.dev/finalizer"
"""On a QuorumService: while it is there, StatefulSets may carry its marks."""
MARKS = (SWAP, OLD_VERSION, NEW_VERSION)


class Before(msgspec.Struct, frozen=True, rename="camel"):
    """What a StatefulSet was before its swap."""

    image: str
    strategy: dict[str, Any]


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """A swap, as the annotation has it."""

    service: str
    target: str
    image: str
    container: str
    before: Before
    recreate: bool = False

    @classmethod
    def read(cls, text: str) -> Record | None:
        """None for what is none of ours: then nobody knows what the StatefulSet was."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError:
            return None

    def written(self) -> str:
        return msgspec.json.encode(self, order="sorted").decode()
