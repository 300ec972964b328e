"""Structs to structural OpenAPI v3, the only kind of schema that the API server takes for custom resources.

It has no `$ref`, no `anyOf` and no null: a Struct is written out where it is used, an optional field is a
property that may be absent, and `int | str` is the server's own int-or-string. What cannot be said that way,
and what has no upper bound or no description, is refused with the name of the Struct and of the field.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any, cast

import msgspec
from msgspec import inspect as types

from shiplift.api.base import Rule, Value

Schema = dict[str, Any]
_DAY, _CLOCK = r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
_TIME = rf"^{_DAY}T{_CLOCK}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
_MOMENT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": _TIME,
    "maxLength": 64,
    # Without a rule the server takes a list for a time: where a format is set, it does not look at lists.
    "x-kubernetes-validations": [
        {
            "rule": "self >= timestamp('1000-01-01T00:00:00Z')",
            "message": "must be a time: 2026-05-01T22:00:00Z",
        }
    ],
}


class SchemaError(TypeError):
    """A Struct that the API server's schema cannot express."""

    hint = "see the bounded types in shiplift.api.values"


def schema_of(struct: type[Value]) -> Schema:
    """The structural schema of a Struct and of everything in it."""
    return _struct(types.type_info(struct), struct.__name__)


def describe_fields(struct: type[Value]) -> dict[str, str]:
    """The description of each field of a Struct: the text under it, in the class that declares it."""
    described: dict[str, str] = {}
    for owner in reversed(struct.__mro__):
        if owner is not Value and issubclass(owner, Value):
            described |= _texts_under_fields(owner)
    return described


@cache
def _texts_under_fields(struct: type[Value]) -> dict[str, str]:
    body = _classes_in(struct.__module__)[struct.__qualname__].body
    return {
        field.target.id: _flowing(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


@cache
def _classes_in(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by qualified name; each module is parsed once, which `inspect` would not do."""
    return dict(_classes_below(ast.parse(inspect.getsource(sys.modules[module])), ""))


def _classes_below(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        inside = prefix
        if isinstance(child, ast.ClassDef):
            yield prefix + child.name, child
            inside = f"{prefix}{child.name}."
        elif isinstance(child, ast.FunctionDef):
            inside = f"{prefix}{child.name}.<locals>."
        yield from _classes_below(child, inside)


def _flowing(text: str) -> str:
    return " ".join(text.split())


def _struct(info: types.Type, where: str, above: tuple[type, ...] = ()) -> Schema:
    if not isinstance(info, types.StructType) or not issubclass(struct := info.cls, Value):
        raise SchemaError(f"{where}: must be a Struct derived from Value")
    if struct in above:
        raise SchemaError(f"{where}: {struct.__name__} contains itself, and a structural schema has no $ref")
    schema: Schema = {
        "type": "object",
        "description": _description(struct),
        "required": sorted(field.encode_name for field in info.fields if field.required),
        "properties": _properties(struct, info.fields, above),
        "x-kubernetes-validations": [rule_schema(rule) for rule in struct.RULES],
    }
    return {key: value for key, value in schema.items() if value}


def _description(struct: type[Value]) -> str:
    if "__doc__" not in vars(struct) or not struct.__doc__:
        raise SchemaError(f"{struct.__name__}: has no docstring to describe it")
    return _flowing(struct.__doc__)


def _properties(struct: type[Value], fields: tuple[types.Field, ...], above: tuple[type, ...]) -> Schema:
    descriptions = describe_fields(struct)
    properties: Schema = {}
    for field in sorted(fields, key=lambda field: field.encode_name):
        where = f"{struct.__name__}.{field.name}"
        if field.name not in descriptions:
            raise SchemaError(f"{where}: has no text under it to describe it")
        schema = _type(_present(field, where), where, (*above, struct))
        described = schema | {"description": descriptions[field.name]}
        properties[field.encode_name] = described | _default(field, schema)
    return properties


def rule_schema(rule: Rule) -> Schema:
    """One CEL rule as the API server wants it."""
    at_field = {"fieldPath": rule.field} if rule.field else {}
    return {"rule": rule.expression, "message": rule.message, **at_field}


def _present(field: types.Field, where: str) -> types.Type:
    """The type of the field when it is there: `X | None = None` is an X that may be absent."""
    if not isinstance(field.type, types.UnionType):
        return field.type
    some = tuple(one for one in field.type.types if not isinstance(one, types.NoneType))
    nullable = len(some) < len(field.type.types)
    if nullable and (field.required or field.default is not None):
        raise SchemaError(f"{where}: can be None, so its default must be None: the schema has no null")
    return some[0] if len(some) == 1 else types.UnionType(some)


def _default(field: types.Field, schema: Schema) -> Schema:
    """What the server fills in. Not for what is empty: absent says the same."""
    value = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT or value is None or value in ((), {}, ""):
        return {}
    plain = msgspec.json.decode(msgspec.json.encode(value))
    return {"default": defaults_in(schema) | plain if isinstance(value, Value) else plain}


def defaults_in(schema: Schema) -> Schema:
    """What an object without any field becomes."""
    properties: dict[str, Schema] = schema["properties"]
    return {name: field["default"] for name, field in properties.items() if "default" in field}


def _type(info: types.Type, where: str, above: tuple[type, ...]) -> Schema:
    match info:
        case types.Metadata():
            extra = cast("Schema | None", info.extra_json_schema)  # pyright: ignore[reportUnknownMemberType]
            return _with_keys(_type(info.type, where, above) | (extra or {}))
        case types.StructType():
            return _struct(info, where, above)
        case types.VarTupleType():
            return _list(info, where, above)
        case types.DictType():
            return _map(info, where, above)
        case types.UnionType():
            return _int_or_string(info, where)
        case _:
            return _scalar(info, where)


def _scalar(info: types.Type, where: str) -> Schema:
    match info:
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer", "format": "int64", **_numbers(info)}
        case types.StrType():
            return {"type": "string", **_text(info, where)}
        case types.DateTimeType(tz=True):
            return _MOMENT
        case types.EnumType():
            return _enum(info.cls, where)
        case _:
            kind = type(info).__name__.removesuffix("Type").lower()
            raise SchemaError(f"{where}: a structural schema cannot express {kind}")


def _enum(enum: type[Enum], where: str) -> Schema:
    values = [member.value for member in enum]
    if not all(isinstance(value, str) for value in values):
        raise SchemaError(f"{where}: {enum.__name__} must have text values")
    return {"type": "string", "enum": values}


def _numbers(info: types.IntType) -> Schema:
    return _without_none({"minimum": info.ge, "maximum": info.le})


def _text(info: types.StrType, where: str) -> Schema:
    if info.max_length is None:
        raise SchemaError(f"{where}: a text needs a max_length")
    bounds = {"minLength": info.min_length, "maxLength": info.max_length, "pattern": info.pattern}
    return _without_none(bounds)


def _list(info: types.VarTupleType, where: str, above: tuple[type, ...]) -> Schema:
    if info.max_length is None:
        raise SchemaError(f"{where}: a list needs a max_length")
    bounds = _without_none({"minItems": info.min_length, "maxItems": info.max_length})
    return {"type": "array", **bounds, "items": _type(info.item_type, f"{where}[]", above)}


def _with_keys(schema: Schema) -> Schema:
    """A field that tells items apart must always be there, be it empty."""
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        if key not in schema["items"].get("required", ()):
            schema["items"]["properties"][key].setdefault("default", "")
    return schema


def _map(info: types.DictType, where: str, above: tuple[type, ...]) -> Schema:
    if not isinstance(info.key_type, types.StrType):
        raise SchemaError(f"{where}: the keys of a map must be text")
    if isinstance(info.value_type, types.AnyType):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if info.max_length is None:
        raise SchemaError(f"{where}: a map needs a max_length")
    values = _type(info.value_type, f"{where}{{}}", above)
    return {"type": "object", "maxProperties": info.max_length, "additionalProperties": values}


def _int_or_string(info: types.UnionType, where: str) -> Schema:
    match info.types:
        case (types.IntType() as number, types.StrType() as text):
            return {"x-kubernetes-int-or-string": True, **_numbers(number), **_text(text, where)}
        case _:
            raise SchemaError(f"{where}: the only union that a structural schema can express is int | str")


def _without_none(bounds: Schema) -> Schema:
    return {key: value for key, value in bounds.items() if value is not None}
