"""Objects without what is free to differ between two runs, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from tests.crash import facts

Json = dict[str, Any]

_FREE_META = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}
)
_FREE_CONDITION = frozenset({"lastTransitionTime", "observedGeneration", "message"})


def thing(one: Json, *free_notes: str) -> Json:
    """Metadata and spec; `free_notes` are annotations that say nothing."""
    about = {name: value for name, value in one["metadata"].items() if name not in _FREE_META}
    notes = {name: value for name, value in facts.notes(one).items() if name not in free_notes}
    return {"metadata": about | {"annotations": notes}, "spec": one.get("spec")}


def status(one: Json, free: frozenset[str]) -> Json:
    """A status with its conditions by type, without the fields that are free, times and wording."""
    kept = {name: value for name, value in one.items() if name not in free}
    kept["conditions"] = {
        each["type"]: {name: value for name, value in each.items() if name not in _FREE_CONDITION}
        for each in one.get("conditions", [])
    }
    return kept


def flatten(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every field that says something, by its path."""
    if isinstance(value, dict) and value:
        for name, inner in cast("Json", value).items():
            yield from flatten(f"{path}.{name}", inner)
    elif value not in ({}, [], None):
        yield path, value


def text(value: Json) -> str:
    """The same for the same value."""
    return msgspec.json.encode(value, order="deterministic").decode()
