"""A patch laid on an object, as the API server does it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

Json = dict[str, Any]


def merged(old: Any, patch: Any) -> Any:
    """RFC 7386, word for word."""
    if not isinstance(patch, dict):
        return patch
    result: Json = dict(cast("Json", old)) if isinstance(old, dict) else {}
    for key, value in cast("Json", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def edited(old: Json, operations: Sequence[Json]) -> Json:
    """RFC 6902: add, remove, replace and test."""
    result = copy.deepcopy(old)
    for one in operations:
        _edit(result, one)
    return result


def _edit(live: Json, one: Json) -> None:
    *path, last = [key.replace("~1", "/").replace("~0", "~") for key in one["path"].split("/")[1:]]
    at: Any = live
    for key in path:
        at = cast("list[Any]", at)[int(key)] if isinstance(at, list) else at[key]
    if isinstance(at, list):
        _edit_list(cast("list[Any]", at), last, one)
        return
    match one["op"]:
        case "remove":
            del at[last]
        case "test":
            assert at[last] == one["value"]
        case _:
            at[last] = copy.deepcopy(one["value"])


def _edit_list(at: list[Any], last: str, one: Json) -> None:
    place = len(at) if last == "-" else int(last)
    match one["op"]:
        case "remove":
            del at[place]
        case "add":
            at.insert(place, one["value"])
        case "replace":
            at[place] = one["value"]
        case _:
            assert at[place] == one["value"]
