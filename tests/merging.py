"""A merge patch laid on an object, as the API server does it."""

from __future__ import annotations

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
