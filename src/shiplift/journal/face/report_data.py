"""A chapter of the journal as programs read it (`shiplift report -o json`): a shape that only grows."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from shiplift.journal.face.report import unseen
from shiplift.journal.model import Chapter, Journal

Data = dict[str, Any]


def report_data(chapter: Chapter, journal: Journal | None = None) -> Data:
    """All fields, also those that say nothing, and what was not seen in words."""
    return _whole(chapter) | {"notSeen": list(unseen(chapter, journal))}


def _whole(value: Any) -> Any:
    """Structs with every field: whoever reads it finds each where it is expected."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {one.encode_name: _whole(getattr(value, one.name)) for one in fields}
    if isinstance(value, tuple):
        return [_whole(one) for one in cast("tuple[Any, ...]", value)]
    return msgspec.to_builtins(value)
