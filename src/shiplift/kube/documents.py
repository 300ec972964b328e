"""YAML and JSON that somebody else has written, read plainly: no anchors (a small text could become a huge
one), no key twice (one of the two would be lost without a word), bounded in size and depth."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

MOST_BYTES = 256 << 10


class DocumentError(ValueError):
    """The text is no document of ours; says where and why, without repeating it."""


class _Plain(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise DocumentError("anchors and aliases are not read")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise DocumentError(f"line {node.start_mark.line + 1}: {str(twice)[:64]!r} is there twice")
        return super().construct_mapping(node, deep)


def read(text: str | bytes) -> Any:
    """What the text says; None where it says nothing."""
    if len(text) > MOST_BYTES:
        raise DocumentError(f"larger than {MOST_BYTES} bytes")
    try:
        return yaml.load(text, _Plain)  # noqa: S506 - a SafeLoader, and stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise DocumentError(f"{where}not YAML: {error.problem or 'it cannot be read'}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError("not YAML") from None
