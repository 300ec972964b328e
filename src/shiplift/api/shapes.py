"""What a value should be, in words: nobody who mistyped one should have to read a regular expression."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
from msgspec import Meta, inspect

from shiplift.api import machines, values

_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing",
}
_MISTYPED = re.compile(r"[Ee]xpected `(?P<wanted>[a-z]+)(?: \| null)?`, got `(?P<given>[a-z]+)`")
_MISSHAPEN = re.compile(r"[Ee]xpected `str(?: \| null)?` matching regex (?P<pattern>.+)", re.DOTALL)
_UNKNOWN_CHOICE = re.compile(r"[Ii]nvalid enum value (?P<given>.+)", re.DOTALL)
_PARTS = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
"""Of a path: a field, or which one of a list or map."""
_NUMBERS = ("int", "float")


def _patterns(shape: Any) -> list[str]:
    """As an error quotes them."""
    found = [repr(one.pattern) for one in get_args(shape) if isinstance(one, Meta) and one.pattern]
    return found + [pattern for one in get_args(shape) for pattern in _patterns(one)]


_SHAPES: tuple[tuple[Any, str], ...] = (
    (values.Version, "a whole version, such as v1.36.3"),
    (values.VersionOrMinor, "a version, such as v1.36.3, or a minor, such as v1.36"),
    (values.Semver, "a whole version, such as 1.2.3"),
    (values.PackageVersion, "the version of a package, such as 1.7.24~ds1-6"),
    (values.Name, "a name of lower-case letters, digits, hyphens and dots"),
    (values.DnsLabel, "a name of lower-case letters, digits and hyphens"),
    (values.LabelKey, "the key of a label, such as example.com/disk"),
    (values.LabelValue, "the value of a label: letters, digits, hyphens, underscores and dots"),
    (values.Duration, "a duration, such as 90s, 10m or 1h30m"),
    (values.Quantity, "a quantity, such as 2 or 512Mi"),
    (values.Url, "a URL that begins with https:// or http://"),
    (values.Sha256, "64 hexadecimal digits"),
    (values.Digest, "sha256: and 64 hexadecimal digits"),
    (values.AtLeastOne, "a count or a percentage, such as 1 or 10%"),
    (values.IntOrPercent, "a count or a percentage, such as 1 or 10%"),
    (machines.Address, "an IP address or the name of a host"),
    (machines.HostKey, "a host key as ssh-keyscan prints it, without the address"),
)
_WORDS = {pattern: words for shape, words in _SHAPES for pattern in _patterns(shape)}


def plain(problem: str, of: type[msgspec.Struct], path: str) -> str:
    """The problem that a decoder found at this path, in words; as it is where there are none for it."""
    if (found := _UNKNOWN_CHOICE.fullmatch(problem)) and (known := _choices(of, path)):
        return f"it has to be one of {', '.join(known)}, and is {found['given']}"
    if found := _MISSHAPEN.fullmatch(problem):
        words = _WORDS.get(found["pattern"])
        return f"it has to be {words}" if words else problem
    if found := _MISTYPED.fullmatch(problem):
        return _mistyped(found["wanted"], found["given"]) or problem
    return problem


def _mistyped(wanted: str, given: str) -> str:
    """Empty for a type that has no words."""
    if wanted not in _TYPES or given not in _TYPES:
        return ""
    hint = "; put it in quotes" if wanted == "str" and given in _NUMBERS else ""
    return f"it has to be {_TYPES[wanted]}, and is {_TYPES[given]}{hint}"


def _choices(of: type[msgspec.Struct], path: str) -> list[str]:
    """What may stand at this path, where it is an enum; else empty."""
    info: inspect.Type | None = inspect.type_info(of)
    for part in _PARTS.findall(path):
        info = _within(_bare(info), part)
    found = _bare(info)
    return [str(one.value) for one in found.cls] if isinstance(found, inspect.EnumType) else []


def _bare(info: inspect.Type | None) -> inspect.Type | None:
    """Without its bounds, and without the null that may stand in its place."""
    while isinstance(info, inspect.Metadata):
        info = info.type
    if isinstance(info, inspect.UnionType):
        some = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        return _bare(some[0]) if len(some) == 1 else None
    return info


def _within(info: inspect.Type | None, part: str) -> inspect.Type | None:
    if isinstance(info, inspect.StructType):
        return next((one.type for one in info.fields if one.encode_name == part), None)
    if isinstance(info, inspect.ListType | inspect.VarTupleType):
        return info.item_type
    return info.value_type if isinstance(info, inspect.DictType) else None
