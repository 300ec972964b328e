"""JSON pointers that stay true while others edit, and the patch between two documents.

A pointer is RFC 6901 text, except that an entry of a list is named by what it is and never by its position:
`{"name":"web"}` is the entry with those fields, `="x"` the entry that equals that value. Documents are never
changed in place: each function returns a new one that shares what it did not touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

Json = Any
ABSENT = msgspec.UNSET
_encode = msgspec.json.Encoder(order="deterministic").encode


class PointerError(ValueError):
    """A pointer that does not fit the document; names both."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def pointer(*tokens: str) -> str:
    """Write a pointer from its tokens; a plain token is the key of a map."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def entry(**fields: str | int | bool) -> str:
    """The token for the list entry that has these fields, as in `entry(key="a", effect="NoSchedule")`."""
    return _encode(fields).decode()


def whole(value: Json) -> str:
    """The token for the list entry that equals this value."""
    return "=" + _encode(value).decode()


def tokens(path: str) -> list[str]:
    """The tokens of a pointer."""
    if not path.startswith("/"):
        raise PointerError(
            f"pointer {path!r} does not start with a slash", "write it like /metadata/labels/a"
        )
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: `true` is not 1, and absent is not null."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return _encode(one) == _encode(other)


def get(document: Json, path: str) -> Json:
    """The value at the pointer, or ABSENT."""
    value = document
    for token in tokens(path):
        value = _child(value, token, path)
        if value is ABSENT:
            return ABSENT
    return value


def _child(value: Json, token: str, path: str) -> Json:
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).get(token, ABSENT)
    if isinstance(value, list):
        items = cast("list[Json]", value)
        at = _position(items, token, path)
        return ABSENT if at is None else items[at]
    return ABSENT


def _position(items: list[Json], token: str, path: str) -> int | None:
    is_named = _names(token, path)
    found = [at for at, item in enumerate(items) if is_named(item)]
    if len(found) > 1 and not token.startswith("="):
        raise PointerError(f"{path} names {len(found)} entries", "name an entry by fields that are unique")
    return found[-1] if found else None


def index(document: Json, path: str) -> int | None:
    """The position of the list entry that the pointer names; None when it names none."""
    *above, last = tokens(path)
    items = get(document, pointer(*above)) if above else document
    return _position(cast("list[Json]", items), last, path) if isinstance(items, list) else None


def ancestors(path: str) -> list[str]:
    """The pointers to what holds the value, the outermost first."""
    parts = tokens(path)
    return [pointer(*parts[:depth]) for depth in range(1, len(parts))]


def overlap(one: str, other: str) -> bool:
    """Whether a change at one may be a change at the other."""
    for mine, theirs in zip(tokens(one), tokens(other), strict=False):
        if mine != theirs:
            return _shape(mine) != _shape(theirs)
    return True


def _shape(token: str) -> tuple[str, ...]:
    if token.startswith("{"):
        return tuple(_decoded(token, token))
    return ("=",) if token.startswith("=") else ()


def _names(token: str, path: str) -> Callable[[Json], bool]:
    if token.startswith("="):
        return lambda item: _encode(item) == token[1:].encode()
    if token.startswith("{"):
        fields = _decoded(token, path)
        return lambda item: isinstance(item, dict) and _has(cast("dict[str, Json]", item), fields)
    raise PointerError(f"{path} names a list entry by {token!r}", "positions move: name it by its fields")


def _decoded(token: str, path: str) -> dict[str, Json]:
    try:
        return msgspec.json.decode(token, type=dict[str, Json])
    except msgspec.DecodeError as error:
        raise PointerError(
            f"{path} has an unreadable entry name {token!r}", "write it with entry()"
        ) from error


def _has(item: dict[str, Json], fields: dict[str, Json]) -> bool:
    return all(same(item.get(name, ABSENT), value) for name, value in fields.items())


def put(document: Json, path: str, value: Json, at: int | None = None) -> Json:
    """The document with the value at the pointer; ABSENT takes it away.

    Maps and lists on the way are made where they are missing. A new list entry goes to `at`, else last.
    """
    return _put(document, tokens(path), value, path, at)


def _put(value: Json, rest: list[str], new: Json, path: str, at: int | None) -> Json:
    if not rest:
        return new
    token, *deeper = rest
    if value is ABSENT:
        if new is ABSENT:
            return ABSENT
        value = [] if token[:1] in ("=", "{") else {}
    if isinstance(value, dict):
        return _put_in_map(cast("dict[str, Json]", value), token, deeper, new, path, at)
    if isinstance(value, list):
        return _put_in_list(cast("list[Json]", value), token, deeper, new, path, at)
    raise PointerError(f"{path} goes through a {type(value).__name__}", "only maps and lists have parts")


def _put_in_map(
    value: dict[str, Json], token: str, rest: list[str], new: Json, path: str, at: int | None
) -> dict[str, Json]:
    child = _put(value.get(token, ABSENT), rest, new, path, at)
    if child is ABSENT:
        return {key: item for key, item in value.items() if key != token}
    return value | {token: child}


def _put_in_list(
    items: list[Json], token: str, rest: list[str], new: Json, path: str, at: int | None
) -> list[Json]:
    found = _position(items, token, path)
    if found is None:
        if rest or new is ABSENT:
            return _missing(items, rest, new, path)
        _check_name(token, new, path)
        end = len(items) if at is None else min(at, len(items))
        return [*items[:end], new, *items[end:]]
    child = _put(items[found], rest, new, path, at)
    if not rest and child is not ABSENT:
        _check_name(token, child, path)
    middle = [] if child is ABSENT else [child]
    return [*items[:found], *middle, *items[found + 1 :]]


def _missing(items: list[Json], rest: list[str], new: Json, path: str) -> list[Json]:
    if rest and new is not ABSENT:
        raise PointerError(f"{path} names a list entry that is not there", "add the whole entry first")
    return items


def _check_name(token: str, value: Json, path: str) -> None:
    if not _names(token, path)(value):
        raise PointerError(
            f"{path} would hold an entry of another name", "the entry must carry its own fields"
        )


def patch(old: Json, new: Json) -> list[dict[str, Json]]:
    """The JSON patch (RFC 6902) that makes `new` of `old`; lists that differ are replaced as a whole."""
    operations: list[dict[str, Json]] = []
    _compare(old, new, "", operations)
    return operations


def _compare(old: Json, new: Json, path: str, operations: list[dict[str, Json]]) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("dict[str, Json]", old), cast("dict[str, Json]", new)
        for key in [*before, *(key for key in after if key not in before)]:
            _compare(before.get(key, ABSENT), after.get(key, ABSENT), path + pointer(key), operations)
    elif new is ABSENT:
        operations.append({"op": "remove", "path": path})
    elif not same(old, new):
        operations.append({"op": "add" if old is ABSENT else "replace", "path": path, "value": new})
