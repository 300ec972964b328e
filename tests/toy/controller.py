"""What the operator would run of the toy layer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from shiplift.engine.layer import Layer
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch


def wakes(_kind: Kind, _old: Row | None, _new: Row | None) -> Iterable[Hashable]:
    return ()


def make(_context: Context) -> Layer[Any, Any, Any]:
    raise NotImplementedError("nobody runs it")


RULES = ({"apiGroups": [kinds.GROUP], "resources": ["noderollouts"], "verbs": ["get", "delete"]},)
PART = LayerPart("toy", (Watch(kinds.NODE_ROLLOUT), Watch(kinds.NODE)), wakes, make, RULES)
