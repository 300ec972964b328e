"""Hypothesis strategies: JSON that fits a Struct of ours, made from the Struct itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import inspect as types

LONGEST = 3
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e30, 1e30) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def fitting(struct: type) -> st.SearchStrategy[dict[str, Any]]:
    return _values(types.type_info(struct))


def _values(info: types.Type) -> st.SearchStrategy[Any]:
    match info:
        case types.Metadata():
            return _lists(info)
        case types.StructType():
            return _objects(info.cls)
        case types.DictType():
            return _maps(info)
        case types.UnionType():
            return st.one_of([_values(one) for one in info.types if not isinstance(one, types.NoneType)])
        case _:
            return _scalars(info)


def _scalars(info: types.Type) -> st.SearchStrategy[Any]:
    match info:
        case types.BoolType():
            return st.booleans()
        case types.IntType():
            return st.integers(info.ge, info.le if info.le is not None else 2**62)
        case types.StrType():
            return _texts(info)
        case types.EnumType():
            return st.sampled_from([one.value for one in info.cls])
        case types.DateTimeType():
            return st.datetimes(datetime(1970, 1, 1), datetime(2900, 1, 1)).map(_written)
        case _:
            raise AssertionError(f"no values for {info}")


def _written(moment: datetime) -> str:
    return moment.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z")


def _texts(info: types.StrType) -> st.SearchStrategy[str]:
    least, most = info.min_length or 0, info.max_length or 0
    if info.pattern is None:
        return st.text(min_size=least, max_size=min(most, 12))
    return st.sampled_from(_samples(info.pattern, least, most))


@cache
def _samples(pattern: str, least: int, most: int) -> list[str]:
    """Some texts of that shape, made once: making them anew for every object takes most of the time."""
    found: set[str] = set()

    @settings(max_examples=20, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(st.from_regex(pattern, alphabet=st.characters(codec="ascii")))
    def collect(text: str) -> None:
        found.add(text)

    collect()
    return sorted(text for text in found if least <= len(text) <= most and not text.endswith("\n"))


def _lists(info: types.Metadata) -> st.SearchStrategy[list[Any]]:
    keys = (info.extra_json_schema or {}).get("x-kubernetes-list-map-keys", ())

    def identity(item: Any) -> Any:
        return tuple(item.get(key, "") for key in keys) if keys else json.dumps(item)

    assert isinstance(info.type, types.VarTupleType)
    least = info.type.min_length or 0
    most = min(info.type.max_length or 0, least + LONGEST)
    return st.lists(_values(info.type.item_type), min_size=least, max_size=most, unique_by=identity)


def _maps(info: types.DictType) -> st.SearchStrategy[dict[str, Any]]:
    keys = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
    values = st.integers(0, 9) if isinstance(info.value_type, types.AnyType) else _values(info.value_type)
    return st.dictionaries(keys, values, max_size=LONGEST)


@cache
def _objects(struct: type) -> st.SearchStrategy[dict[str, Any]]:
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    fields = {one.encode_name: _values(one.type) for one in info.fields}
    required = {one.encode_name for one in info.fields if one.required}
    return st.fixed_dictionaries(
        {name: fields[name] for name in fields if name in required},
        optional={name: fields[name] for name in fields if name not in required},
    )
