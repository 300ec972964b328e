"""What all custom resources are made of: values, objects, and what their CRDs say of them.

Every Struct here is frozen and travels as camelCase JSON. The line of text under a field is its description
in the CRD and in the reference page, so a field without one is refused by the schema walker.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Self

import msgspec
from msgspec import Meta, field

from shiplift.facts.kinds import Kind

TEXTS: type[dict[str, str]] = dict
"""The default of a map. It must be `dict` itself: only that is left out when it is empty."""


class Rule(msgspec.Struct, frozen=True):
    """One CEL rule of the API server, beside the Struct that it guards."""

    expression: str
    message: str
    field: str = ""
    """Which field the answer names (`.replicas`); the Struct itself where empty."""


class Column(msgspec.Struct, frozen=True):
    """One column of `kubectl get`; `wide` ones show with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


class Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a custom resource. Absent and default are the same: neither is sent."""

    RULES: ClassVar[tuple[Rule, ...]] = ()


class OwnerReference(Value, frozen=True, kw_only=True):
    """Whose object this is."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Value, frozen=True, kw_only=True):
    """The part of an object's metadata that shiplift reads; the API server has its own schema for it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=TEXTS)
    annotations: dict[str, str] = field(default_factory=TEXTS)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: Annotated[datetime, Meta(tz=True)] | None = None
    deletion_timestamp: Annotated[datetime, Meta(tz=True)] | None = None


class Resource(Value, frozen=True, kw_only=True):
    """One custom resource. `spec` says what is wanted and `status` what was seen.

    Every kind sets the class constants below; `spec` and `status` are fields of the kind's own types.
    """

    KIND: ClassVar[Kind]
    SHORT_NAMES: ClassVar[tuple[str, ...]]
    COLUMNS: ClassVar[tuple[Column, ...]]
    TELLS_READY: ClassVar[bool] = True
    """Its conditions have Ready, and `kubectl get` shows it."""
    SCALE: ClassVar[bool] = False
    """`kubectl scale` works: the kind has `spec.replicas` and `status.replicas`."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @classmethod
    def salvaged(cls, _raw: bytes, /) -> Self | None:
        """The object as far as it can be read, where that is enough to act on; None where it is not."""
        return None


_RESERVED = ("namespace", "package")


def cel(field: str) -> str:
    """A field as CEL wants it: words of its own are escaped."""
    return f"__{field}__" if field in _RESERVED else field


def immutable(field: str) -> Rule:
    """A required or defaulted field that keeps its first value."""
    return Rule(f"self.{cel(field)} == oldSelf.{cel(field)}", f"{field} cannot be changed", f".{field}")


def unchanged(field: str, new: str = "self", old: str = "oldSelf") -> str:
    """A condition: the field, which may be absent, is what it was."""
    now, then = f"{new}.{cel(field)}", f"{old}.{cel(field)}"
    return f"(has({now}) == has({then}) && (!has({now}) || {now} == {then}))"


def same_version(field: str) -> str:
    """A condition: a version, which may be absent, is the one that it was, with or without its `v`."""
    now, then = f"self.{field}", f"oldSelf.{field}"
    alike = f"{now} == {then} || 'v' + {now} == {then} || {now} == 'v' + {then}"
    return f"(has({now}) == has({then}) && (!has({now}) || {alike}))"


SINGLETON = "cluster"
ONLY_ONE = Rule(
    f"self.metadata.name == '{SINGLETON}'",
    f"metadata.name must be '{SINGLETON}': there is one for the whole cluster",
)
