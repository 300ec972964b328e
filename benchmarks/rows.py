"""Rows of any kind by the few fields that matter; all others are empty."""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, TypeVar, cast

import msgspec

from shiplift.facts.meta import NO_LABELS, Labels, Row
from shiplift.facts.pods import PodSpec
from shiplift.facts.quantities import NOTHING, Resources

R = TypeVar("R", bound=Row)


@functools.cache
def _blank(kind: type[Row]) -> Row:
    hints = typing.get_type_hints(kind)
    return kind(**{field: _empty(hints[field]) for field in kind.__struct_fields__})


def _empty(annotation: Any) -> Any:
    known = {Labels: NO_LABELS, Resources: NOTHING, PodSpec: PodSpec(), Any: None}
    if annotation in known:
        return known[annotation]
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return None
    return () if origin is tuple else annotation()


def make(kind: type[R], name: str, **given: Any) -> R:
    """A row whose other fields are empty."""
    values = {"name": name, "uid": f"{kind.__name__}/{name}", "resource_version": 1, "generation": 1, **given}
    return cast("R", msgspec.structs.replace(_blank(kind), **values))
