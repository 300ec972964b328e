"""Structs to structural schemas, and what the walker refuses to put into one."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, StrEnum
from typing import Annotated, Any

import pytest
from msgspec import Meta, field

from shiplift.api import TYPES, crd
from shiplift.api.base import Rule, Value
from shiplift.api.schema import SchemaError, schema_of
from shiplift.api.values import IntOrPercent, Line, RawObject, Time, keyed, unique


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Inner(Value, frozen=True, kw_only=True):
    """An inner part."""

    size: Annotated[int, Meta(ge=1, le=9)] = 3
    """How big."""
    name: Line = ""
    """What it is called."""


class Outer(Value, frozen=True, kw_only=True):
    """An outer part,
    described on two lines."""

    RULES = (Rule("self.inner.size > 1", "size must be more than 1", ".inner"),)

    first_name: Annotated[str, Meta(min_length=1, max_length=5, pattern="^[a-z]+$")]
    """A text."""
    inner: Inner = Inner()
    """A part."""
    other: Inner = Inner(size=5)
    """A part with another default."""
    share: IntOrPercent = "25%"
    """A number or a percentage."""
    colour: Colour | None = None
    """One of a list."""
    parts: Annotated[tuple[Inner, ...], keyed("name", most=4)] = ()
    """Some parts."""
    words: Annotated[tuple[Line, ...], unique(most=2, least=1)] = ("a",)
    """Some words."""
    tags: Annotated[dict[str, Line], Meta(max_length=7)] = field(default_factory=dict[str, str])
    """Some tags."""
    anything: RawObject = field(default_factory=dict[str, Any])
    """Whatever."""
    when: Time | None = None
    """A time."""
    flag: bool = False
    """A switch."""


def test_a_struct_becomes_an_object_with_its_required_fields() -> None:
    schema = schema_of(Outer)
    assert (schema["type"], schema["required"]) == ("object", ["firstName"])
    assert schema["description"] == "An outer part, described on two lines."
    assert list(schema["properties"]) == sorted(schema["properties"])


EXPECTED: dict[str, dict[str, Any]] = {
    "firstName": {
        "type": "string",
        "minLength": 1,
        "maxLength": 5,
        "pattern": "^[a-z]+$",
        "description": "A text.",
    },
    "share": {
        "x-kubernetes-int-or-string": True,
        "minimum": 0,
        "maximum": 10000,
        "maxLength": 4,
        "pattern": "^(100|[1-9]?[0-9])%$",
        "description": "A number or a percentage.",
        "default": "25%",
    },
    "colour": {"type": "string", "enum": ["Red", "Blue"], "description": "One of a list."},
    "words": {
        "type": "array",
        "minItems": 1,
        "maxItems": 2,
        "items": {"type": "string", "maxLength": 256},
        "x-kubernetes-list-type": "set",
        "description": "Some words.",
        "default": ["a"],
    },
    "tags": {
        "type": "object",
        "maxProperties": 7,
        "additionalProperties": {"type": "string", "maxLength": 256},
        "description": "Some tags.",
    },
    "anything": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "description": "Whatever.",
    },
    "flag": {"type": "boolean", "description": "A switch.", "default": False},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_field_becomes_a_property(name: str) -> None:
    assert schema_of(Outer)["properties"][name] == EXPECTED[name]


def test_a_time_is_bounded_text() -> None:
    when = schema_of(Outer)["properties"]["when"]
    assert (when["type"], when["format"], when["maxLength"]) == ("string", "date-time", 64)


def test_a_part_has_its_own_defaults_written_out() -> None:
    properties = schema_of(Outer)["properties"]
    assert properties["inner"]["default"] == {"size": 3}
    assert properties["other"]["default"] == {"size": 5}
    assert properties["inner"]["description"] == "A part."


def test_items_that_are_told_apart_by_a_field_always_have_it() -> None:
    parts = schema_of(Outer)["properties"]["parts"]
    assert (parts["x-kubernetes-list-type"], parts["x-kubernetes-list-map-keys"]) == ("map", ["name"])
    assert parts["items"]["properties"]["name"]["default"] == ""


def test_a_rule_names_its_field() -> None:
    assert schema_of(Outer)["x-kubernetes-validations"] == [
        {"rule": "self.inner.size > 1", "message": "size must be more than 1", "fieldPath": ".inner"}
    ]


def test_the_inherited_fields_are_described_where_they_are_declared() -> None:
    class Wider(Inner, frozen=True, kw_only=True):
        """An inner part with more."""

        depth: Annotated[int, Meta(ge=0)] = 0
        """How deep."""

    described = {name: one["description"] for name, one in schema_of(Wider)["properties"].items()}
    assert described == {"size": "How big.", "name": "What it is called.", "depth": "How deep."}


class Numbered(Enum):
    ONE = 1


class Loop(Value, frozen=True, kw_only=True):
    """A loop."""

    again: Loop | None = None
    """Itself."""


class Mute(Value, frozen=True, kw_only=True):
    """A Struct with a field that nobody described."""

    thing: Line = ""


class Nameless(Value, frozen=True, kw_only=True):
    thing: Line = ""
    """A thing."""


def test_what_cannot_be_described_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"^Mute.thing: has no text under it"):
        schema_of(Mute)
    with pytest.raises(SchemaError, match=r"^Nameless: has no docstring"):
        schema_of(Nameless)


def test_what_contains_itself_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"^Loop.again: Loop contains itself"):
        schema_of(Loop)


class TextWithoutEnd(Value, frozen=True, kw_only=True):
    """A text without an upper bound."""

    thing: str = ""
    """A thing."""


class ListWithoutEnd(Value, frozen=True, kw_only=True):
    """A list without an upper bound."""

    thing: tuple[Line, ...] = ()
    """A thing."""


class MapWithoutEnd(Value, frozen=True, kw_only=True):
    """A map without an upper bound."""

    thing: dict[str, Line] = field(default_factory=dict[str, str])
    """A thing."""


class MapByNumber(Value, frozen=True, kw_only=True):
    """A map with numbers for keys."""

    thing: dict[int, Line] = field(default_factory=dict[int, str])
    """A thing."""


class RequiredNull(Value, frozen=True, kw_only=True):
    """A field that must be there and may be null."""

    thing: Line | None
    """A thing."""


class NullInstead(Value, frozen=True, kw_only=True):
    """A field that is null instead of its default."""

    thing: Line | None = "x"
    """A thing."""


class Either(Value, frozen=True, kw_only=True):
    """Two types in one."""

    thing: bool | Line = False
    """A thing."""


class Fraction(Value, frozen=True, kw_only=True):
    """A number with a fraction."""

    thing: float = 0.5
    """A thing."""


class Somewhen(Value, frozen=True, kw_only=True):
    """A time in no time zone."""

    thing: datetime | None = None
    """A thing."""


class Numbers(Value, frozen=True, kw_only=True):
    """A list of numbers by name."""

    thing: Numbered = Numbered.ONE
    """A thing."""


class DeepInside(Value, frozen=True, kw_only=True):
    """Something wrong, further down."""

    thing: Annotated[tuple[TextWithoutEnd, ...], Meta(max_length=3)] = ()
    """A thing."""


@pytest.mark.parametrize(
    ("struct", "problem"),
    [
        (TextWithoutEnd, "TextWithoutEnd.thing: a text needs a max_length"),
        (ListWithoutEnd, "ListWithoutEnd.thing: a list needs a max_length"),
        (MapWithoutEnd, "MapWithoutEnd.thing: a map needs a max_length"),
        (MapByNumber, "MapByNumber.thing: the keys of a map must be text"),
        (RequiredNull, "RequiredNull.thing: can be None, so its default must be None"),
        (NullInstead, "NullInstead.thing: can be None, so its default must be None"),
        (Either, "Either.thing: the only union that a structural schema can express is int | str"),
        (Fraction, "Fraction.thing: a structural schema cannot express float"),
        (Somewhen, "Somewhen.thing: a structural schema cannot express datetime"),
        (Numbers, "Numbers.thing: Numbered must have text values"),
        (DeepInside, "TextWithoutEnd.thing: a text needs a max_length"),
    ],
)
def test_what_a_schema_cannot_express_is_refused_by_name(struct: type[Value], problem: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        schema_of(struct)
    assert str(refusal.value).startswith(problem)


def test_the_manifests_are_the_same_every_time() -> None:
    assert crd.manifests() == crd.manifests()
    assert [one["spec"]["names"]["kind"] for one in crd.manifests()] == [kind.kind for kind in TYPES]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_text_list_and_map_has_an_upper_bound(kind: Any) -> None:
    schema = crd.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert [path for part in ("spec", "status") for path in unbounded(schema[part], part)] == []


def unbounded(schema: dict[str, Any], path: str) -> list[str]:
    wanted = {"string": ("maxLength", "enum"), "array": ("maxItems",)}.get(schema.get("type", ""), ())
    own = [path] if wanted and not any(bound in schema for bound in wanted) else []
    below = {**schema.get("properties", {}), **({"[]": schema["items"]} if "items" in schema else {})}
    return own + [found for name, one in below.items() for found in unbounded(one, f"{path}.{name}")]
