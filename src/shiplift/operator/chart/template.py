"""Manifests as templates of Helm: what depends on values is marked while they are still values.

A mark is a text: `text(…)` stands where a text is rendered, also in the middle of one, `raw(…)` where
anything else is (a number, a list as JSON). What is no mark is rendered as it is, braces included.

What depends on the layers is found by comparison. A manifest is assembled without any layer, and with each
of them alone; what is there without any is unconditional, what only some bring is rendered with any of
these. Lists of rights are taken apart first (one resource, one name each): each entry is some layers' alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeVar, cast

import msgspec
import yaml

Manifest = dict[str, Any]
Identity = tuple[str, str, str]
T = TypeVar("T")

_MARK = re.compile(r"@@text (.*?)@@")
_RAW = re.compile(r"'@@raw (.*?)@@'")
_LISTS_OF_RIGHTS = ("rules", "resourceRules")
"""The fields that rights are listed in: of roles, and of policies."""
_BY_LAYER = ("rules", "resourceRules", "egress", "ports")
"""The fields whose entries may be some layers' alone."""


def text(expression: str) -> str:
    """Where a text is; it has no single quotes in it."""
    return f"@@text {expression}@@"


def raw(expression: str) -> str:
    """Where something other than a text is."""
    return f"@@raw {expression}@@"


def identity(manifest: Manifest) -> Identity:
    about = manifest["metadata"]
    return manifest["kind"], about.get("namespace", ""), about["name"]


class Variants(msgspec.Struct, frozen=True):
    """The same manifests: with all layers, with none, and with each alone."""

    whole: Sequence[Manifest]
    bare: Sequence[Manifest]
    alone: Mapping[str, Sequence[Manifest]]

    def taken_apart(self) -> Variants:
        return Variants(
            [_taken_apart(one) for one in self.whole],
            [_taken_apart(one) for one in self.bare],
            {layer: [_taken_apart(one) for one in found] for layer, found in self.alone.items()},
        )

    def of(self, which: Identity) -> _One:
        """One manifest, where it is."""
        return _One(
            _find(self.whole, which),
            _find(self.bare, which),
            {layer: one for layer, found in self.alone.items() if (one := _find(found, which))},
        )


class _One(msgspec.Struct, frozen=True):
    whole: Any
    bare: Any
    alone: Mapping[str, Any]


def rendered(variants: Variants, conditions: Mapping[Identity, str]) -> list[str]:
    """A document each, in the order of `whole`; `conditions` are those of manifests, besides their layers."""
    apart = variants.taken_apart()
    return [_document(apart.of(identity(one)), conditions.get(identity(one), "")) for one in apart.whole]


def enabled(layers: Iterable[str]) -> str:
    """Whether any of these is."""
    asked = [f'(has "{layer}" .Values.layers)' for layer in sorted(layers)]
    return asked[0][1:-1] if len(asked) == 1 else f"or {' '.join(asked)}"


def _document(one: _One, condition: str) -> str:
    lines = _lines(one, "")
    asked = [condition] if condition else []
    if one.bare is None:
        asked.append(enabled(one.alone))
    body = "\n".join(["---", *lines])
    for condition_ in reversed(asked):
        body = f"{{{{- if {condition_} }}}}\n{body}\n{{{{- end }}}}"
    return f"{body}\n"


def _lines(one: _One, indent: str) -> list[str]:
    """Of a mapping: what is the same everywhere as it is, the rest entry by entry."""
    found: list[str] = []
    for key, value in one.whole.items():
        below = _below(one, key)
        if _same(below) or not isinstance(value, (dict, list)):
            found += _dumped({key: value}, indent)
        elif isinstance(value, dict):
            found += [f"{indent}{key}:", *_lines(below, f"{indent}  ")]
        elif key in _BY_LAYER:
            found += [f"{indent}{key}:", *_entries(below, indent)]
        else:
            found += [f"{indent}{key}:", *_in_order(below, indent)]
    return found


def _entries(one: _One, indent: str) -> list[str]:
    """Neighbours with the same condition stand under it together."""
    found: list[str] = []
    for condition, entries in groupby(_unique(one.whole), partial(_entry_condition, one)):
        lines = _dumped(list(entries), indent)
        around = [f"{indent}{{{{- if {condition} }}}}", *lines, f"{indent}{{{{- end }}}}"]
        found += around if condition else lines
    return found


def _entry_condition(one: _One, entry: Any) -> str:
    by = [layer for layer, entries in one.alone.items() if entry in entries]
    everywhere = len(by) == len(one.alone) if one.bare is None else entry in one.bare
    if not everywhere and not by:
        raise ValueError(f"no layer alone brings {entry}, and all together do")
    return "" if everywhere else enabled(by)


def _in_order(one: _One, indent: str) -> list[str]:
    """Of a list that has the same length everywhere: entry by entry, as mappings."""
    found: list[str] = []
    for place, entry in enumerate(one.whole):
        below = _One(
            entry,
            None if one.bare is None else one.bare[place],
            {layer: entries[place] for layer, entries in one.alone.items()},
        )
        lines = _dumped(entry, f"{indent}  ") if _same(below) else _lines(below, f"{indent}  ")
        lines[0] = f"{indent}- {lines[0].lstrip()}"
        found += lines
    return found


def _below(one: _One, key: str) -> _One:
    bare = None if one.bare is None else one.bare.get(key)
    return _One(one.whole[key], bare, {layer: value.get(key) for layer, value in one.alone.items()})


def _same(one: _One) -> bool:
    others = [*one.alone.values(), *([] if one.bare is None else [one.bare])]
    return all(other == one.whole for other in others)


def _taken_apart(manifest: Any) -> Any:
    if isinstance(manifest, dict):
        found = cast("Manifest", manifest)
        return {key: _apart(key, value) for key, value in found.items()}
    return (
        [_taken_apart(one) for one in cast("list[Any]", manifest)] if isinstance(manifest, list) else manifest
    )


def _apart(key: str, value: Any) -> Any:
    if key in _LISTS_OF_RIGHTS and isinstance(value, list):
        entries = cast("list[Manifest]", value)
        return _unique([one for entry in entries for one in rights_apart(entry)])
    return _taken_apart(value)


def rights_apart(right: Manifest) -> list[Manifest]:
    """Of one resource each, and where it is about names, of one name each."""
    found = [dict(right)]
    for field in ("resources", "resourceNames"):
        if right.get(field):
            found = [one | {field: [value]} for one in found for value in right[field]]
    return found


def _find(manifests: Iterable[Manifest], which: Identity) -> Manifest | None:
    return next((one for one in manifests if identity(one) == which), None)


def _unique(entries: Iterable[T]) -> list[T]:
    """Each once, in their order."""
    return list({json.dumps(entry, sort_keys=True): entry for entry in entries}.values())


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _dumped(value: Any, indent: str) -> list[str]:
    dumped = yaml.dump(value, Dumper=_Plain, sort_keys=False, width=100_000, allow_unicode=True)
    return [f"{indent}{line}" if line else "" for line in unmarked(dumped).splitlines()]


def unmarked(dumped: str) -> str:
    """As a template: braces that are text stay text, marks become what they stand for."""
    kept = re.sub(r"\{\{|\}\}", lambda found: f'{{{{ "{found[0]}" }}}}', dumped)
    return _MARK.sub(r"{{ \1 }}", _RAW.sub(r"{{ \1 }}", kept))
