"""Examples of every kind: the least that is accepted, one with everything in it, and variants of that."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shiplift import api
from shiplift.facts.kinds import Kind

FOLDER = Path(__file__).parent / "examples"
NAMESPACE = "default"


def examples(kind: Kind) -> list[dict[str, Any]]:
    return copy.deepcopy(_read(kind))


@cache
def _read(kind: Kind) -> list[dict[str, Any]]:
    documents = yaml.safe_load_all((FOLDER / f"{kind}.yaml").read_text())
    return [_placed(kind, document) for document in documents]


def minimal(kind: Kind) -> dict[str, Any]:
    return examples(kind)[0]


def full(kind: Kind) -> dict[str, Any]:
    return examples(kind)[1]


def changed(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the field at a dotted path set; `None` takes it away."""
    copied = copy.deepcopy(manifest)
    *parents, last = path.split(".")
    place: Any = copied
    for name in parents:
        place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
    if value is None:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return copied


def _placed(kind: Kind, document: dict[str, Any]) -> dict[str, Any]:
    document = {"apiVersion": kind.api_version, "kind": kind.kind, **document}
    if kind.namespaced:
        document["metadata"]["namespace"] = NAMESPACE
    return document


ALL = [(kind, index) for kind in api.TYPES for index in range(len(examples(kind)))]
IDS = [f"{kind}-{index}" for kind, index in ALL]
