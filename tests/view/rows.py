"""Rows for tests: what is not given is empty."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from typing import Any, TypeVar

from shiplift.facts.kinds import Kind
from shiplift.facts.meta import NO_LABELS, Condition, Labels, Owner, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, PodSpec
from shiplift.facts.quantities import NOTHING, Resources

R = TypeVar("R", bound=Row)
_EMPTY = {Labels: NO_LABELS, Resources: NOTHING, PodSpec: PodSpec()}


def make(kind: type[R], name: str, **given: Any) -> R:
    """A row of that type; its uid is its kind and name unless given."""
    hints = typing.get_type_hints(kind)
    empty = {field: _empty(hints[field]) for field in kind.__struct_fields__}
    return kind(**empty | {"name": name, "uid": f"{kind.__name__}/{name}"} | given)


def _empty(annotation: Any) -> Any:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return None
    if origin is tuple:
        return ()
    return _EMPTY[annotation] if annotation in _EMPTY else annotation()


def node(name: str, version: str = "v1.35.4", ready: str = "True", **given: Any) -> Node:
    conditions = (Condition("Ready", ready, since=1000),)
    return make(Node, name, kubelet_version=version, ready=ready == "True", conditions=conditions, **given)


def pod(name: str, on: str = "", owner: Row | None = None, **given: Any) -> Pod:
    owners = (Owner(type(owner).__name__, owner.name, owner.uid, True),) if owner else ()
    return make(Pod, name, node=on, owners=owners, phase=given.pop("phase", "Running"), **given)


class Snapshot:
    """Rows as the store would hand them out."""

    def __init__(self, *rows: Row, stale: tuple[Kind, ...] = ()) -> None:
        self._rows, self._stale = rows, stale

    def all(self, rows: type[R]) -> Iterable[R]:
        return [row for row in self._rows if isinstance(row, rows)]

    def customs(self, _kind: Kind) -> Iterable[Any]:
        return ()

    def stale(self, *of: Kind) -> tuple[Kind, ...]:
        return tuple(kind for kind in self._stale if kind in of)
