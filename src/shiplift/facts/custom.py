"""What is known of one of our own objects: its metadata as for all rows, and the object itself."""

from __future__ import annotations

from typing import Any

from shiplift.facts.meta import Row


class Custom(Row, frozen=True, gc=False, kw_only=True):
    object: Any
    """The decoded custom resource, a Struct of `shiplift.api`."""
