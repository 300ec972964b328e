"""What is looked at before a CustomResourceDefinition is changed: one small rule each, in one ordered list.

Kept true: every difference of two definitions is found by a rule, described for people, or allows more; what
no rule knows is `Unhandled`. What stays as it was is never a finding, however bad it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shiplift.api.operators import CrdFinding, CrdRule, RuleAction
from shiplift.operators.crds.definition import PRESERVES, Definition, Fields, Schema, keeps_unknown, preserves

_USUAL = {
    CrdRule.EXISTING_OBJECTS: RuleAction.DENY,
    CrdRule.STORED_VERSION_REMOVAL: RuleAction.DENY,
    CrdRule.SERVED_VERSION_REMOVAL: RuleAction.WARN,
    CrdRule.SCOPE: RuleAction.DENY,
    CrdRule.FIELD_REMOVAL: RuleAction.DENY,
    CrdRule.REQUIRED: RuleAction.WARN,
    CrdRule.TYPE: RuleAction.DENY,
    CrdRule.ENUM: RuleAction.WARN,
    CrdRule.MAXIMUM: RuleAction.WARN,
    CrdRule.MINIMUM: RuleAction.WARN,
    CrdRule.PATTERN: RuleAction.WARN,
    CrdRule.DEFAULT: RuleAction.WARN,
    CrdRule.NULLABLE: RuleAction.WARN,
    CrdRule.VALIDATION_RULE: RuleAction.WARN,
    CrdRule.UNHANDLED: RuleAction.WARN,
}
"""Denied is what loses data or cannot be undone; told is what only accepts less than before."""
Actions = Mapping[CrdRule, RuleAction]
Told = tuple[CrdRule, str, str]
"""The rule, the field, and what would change."""


class Change(msgspec.Struct, frozen=True):
    """One field of one version, before and after."""

    path: str
    old: Schema
    new: Schema
    fields: Fields
    """All fields of the version afterwards."""


def usual(overrides: Mapping[CrdRule, RuleAction] | None = None) -> Actions:
    """What a finding of each rule does, with the overrides of an AppType."""
    return {**_USUAL, **(overrides or {})}


def findings(old: Definition, new: Definition, actions: Actions) -> list[CrdFinding]:
    """Everything that the change would do, rule by rule; what is allowed is left out."""
    told = [*_of_definition(old, new), *_of_versions(old, new)]
    order = list(CrdRule)
    found = [
        CrdFinding(crd=new.name, rule=rule, action=actions[rule], path=path[:1024], message=message[:4096])
        for rule, path, message in told
        if actions[rule] is not RuleAction.ALLOW
    ]
    return sorted(found, key=lambda one: (order.index(one.rule), one.path, one.message))


def denied(found: Sequence[CrdFinding]) -> bool:
    return any(one.action is RuleAction.DENY for one in found)


def _of_definition(old: Definition, new: Definition) -> Iterator[Told]:
    if old.scope != new.scope:
        yield CrdRule.SCOPE, "", f"the scope changes from {old.scope} to {new.scope}"
    stored = old.stored or tuple(one.name for one in old.versions.values() if one.storage)
    for name in stored:
        if name not in new.versions:
            yield CrdRule.STORED_VERSION_REMOVAL, "", f"version {name} goes, in which objects may be stored"
    for name, version in old.versions.items():
        after = new.versions.get(name)
        if version.served and not (after and after.served):
            yield CrdRule.SERVED_VERSION_REMOVAL, "", f"version {name} is not served any more"


def _of_versions(old: Definition, new: Definition) -> Iterator[Told]:
    for name in old.versions.keys() & new.versions.keys():
        for rule, path, message in _of_fields(old.versions[name].fields, new.versions[name].fields):
            yield rule, path, f"{name}: {message}"


def _of_fields(old: Fields, new: Fields) -> Iterator[Told]:
    for path, schema in old.items():
        if path not in new:
            if not _is_kept(old, new, path):
                yield CrdRule.FIELD_REMOVAL, path, "the field goes, with what is stored in it"
            continue
        change = Change(path, schema, new[path], new)
        for rule, check in _CHECKS:
            for message in check(change):
                yield rule, path, message


def _is_kept(old: Fields, new: Fields, path: str) -> bool:
    """Whether what is stored there stays; where a field above it goes too, that one is told."""
    parents = [one for one in (_parent(path),) if one is not None]
    return keeps_unknown(new, path) or any(parent in old and parent not in new for parent in parents)


def _parent(path: str) -> str | None:
    cut = max(path.rfind("."), path.rfind("["), path.rfind("{"))
    return path[:cut] if cut >= 0 else None


def _kept(change: Change) -> Iterator[str]:
    if preserves(change.old) and not preserves(change.new):
        yield "what no schema names is not kept any more"


def _required(change: Change) -> Iterator[str]:
    before = set(change.old.get("required") or ())
    for name in change.new.get("required") or ():
        if name not in before and "default" not in change.fields.get(f"{change.path}.{name}", {}):
            yield f"{name} becomes required"


def _type(change: Change) -> Iterator[str]:
    before, after = _typed(change.old), _typed(change.new)
    if before != after and (before, after) != ("integer", "number"):
        yield f"the type changes from {before} to {after}"


def _typed(schema: Schema) -> str:
    return "integer or text" if schema.get("x-kubernetes-int-or-string") else str(schema.get("type") or "any")


def _enum(change: Change) -> Iterator[str]:
    before, after = change.old.get("enum"), change.new.get("enum")
    if after and not before:
        yield f"only {_values(after)} are allowed, where anything was"
    gone = [one for one in before or () if after and one not in after]
    if gone:
        yield f"{_values(gone)} not allowed any more"


def _values(values: Sequence[Any]) -> str:
    return ", ".join(str(one)[:40] for one in values[:8]) + (" and more" if len(values) > 8 else "")


def _limits(names: tuple[str, ...], tighter: Callable[[Any, Any], bool]) -> Callable[[Change], Iterator[str]]:
    def check(change: Change) -> Iterator[str]:
        for name in names:
            before, after = change.old.get(name), change.new.get(name)
            if after is not None and _is_tighter(before, after, tighter):
                yield f"{name} becomes {after}" + ("" if before is None else f" instead of {before}")

    return check


def _is_tighter(before: Any, after: Any, tighter: Callable[[Any, Any], bool]) -> bool:
    """Of numbers, by their order; whether a limit is itself excluded is a yes or no."""
    if isinstance(after, bool):
        return after and not before
    if isinstance(before, int | float) and isinstance(after, int | float):
        return tighter(after, before)
    return before != after


def _pattern(change: Change) -> Iterator[str]:
    before, after = change.old.get("pattern"), change.new.get("pattern")
    if after and after != before:
        yield f"the pattern becomes {after!r}" + (f" instead of {before!r}" if before else "")


def _default(change: Change) -> Iterator[str]:
    missing = object()
    before, after = change.old.get("default", missing), change.new.get("default", missing)
    if before is missing and after is not missing:
        yield f"it gets the default {after!r}"
    elif after is missing and before is not missing:
        yield f"it loses the default {before!r}"
    elif before != after:
        yield f"the default changes from {before!r} to {after!r}"


def _nullable(change: Change) -> Iterator[str]:
    if change.old.get("nullable") and not change.new.get("nullable"):
        yield "null is not allowed any more"


def _validations(change: Change) -> Iterator[str]:
    before = [one.get("rule") for one in change.old.get(_RULES) or ()]
    for one in change.new.get(_RULES) or ():
        if one.get("rule") not in before:
            yield f"a rule comes: {one.get('rule')}"


def _unhandled(change: Change) -> Iterator[str]:
    """What differs and no other rule looks at."""
    names = (change.old.keys() | change.new.keys()) - _LOOKED_AT
    for name in sorted(names):
        if change.old.get(name) != change.new.get(name):
            yield f"{name} changes"


_RULES = "x-kubernetes-validations"
_MOST = ("maximum", "maxItems", "maxLength", "maxProperties")
_LEAST = ("minimum", "minItems", "minLength", "minProperties")
_ABOUT = ("description", "title", "example", "externalDocs")
"""What people read."""
_LOOKED_AT = {
    *_MOST,
    *_LEAST,
    *_ABOUT,
    PRESERVES,
    "additionalProperties",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "enum",
    "pattern",
    "default",
    "nullable",
    _RULES,
}
_CHECKS: tuple[tuple[CrdRule, Callable[[Change], Iterator[str]]], ...] = (
    (CrdRule.FIELD_REMOVAL, _kept),
    (CrdRule.REQUIRED, _required),
    (CrdRule.TYPE, _type),
    (CrdRule.ENUM, _enum),
    (CrdRule.MAXIMUM, _limits((*_MOST, "exclusiveMaximum"), lambda after, before: after < before)),
    (CrdRule.MINIMUM, _limits((*_LEAST, "exclusiveMinimum"), lambda after, before: after > before)),
    (CrdRule.PATTERN, _pattern),
    (CrdRule.DEFAULT, _default),
    (CrdRule.NULLABLE, _nullable),
    (CrdRule.VALIDATION_RULE, _validations),
    (CrdRule.UNHANDLED, _unhandled),
)
