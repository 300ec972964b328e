"""Names of objects that are made from other names: never longer than an API server takes, and two that differ
stay two."""

from __future__ import annotations

import hashlib

LONGEST = 253
_DIGEST = 16


def fitting(full: str) -> str:
    """The name itself, or where it is too long, its beginning and a digest of all of it."""
    if len(full) <= LONGEST:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:_DIGEST]
    return f"{full[: LONGEST - _DIGEST - 1].rstrip('-.')}-{digest}"
