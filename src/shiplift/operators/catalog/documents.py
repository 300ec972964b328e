"""The YAML or JSON documents in a file of a catalog, whatever somebody put there.

Kept true: what cannot be read is refused with one line that says why; a small text never becomes a huge value
(anchors that multiply, an anchor that contains itself), and a large one is not begun.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

import msgspec
import yaml

MOST_JSON = 256 << 20
MOST_YAML = 16 << 20
_MOST_VALUES = 2_000_000
"""That a document may consist of once its anchors are written out."""
_DEEPEST = 200
_SPACE = re.compile(r"\s*")
_UNQUOTED = re.compile(r"Expected `str(?: \| null)?`, got `(?:int|float)` - at `\$\.(.+)`")
"""How msgspec says that a number stands where text belongs."""
_KEPT_AS_TEXT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
"""What Kubernetes' own reader takes for text: a date, and a lone `=`."""


def _loader() -> type[Any]:
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, shape) for tag, shape in known if tag not in _KEPT_AS_TEXT]
        for first, known in base.yaml_implicit_resolvers.items()
    }
    return type("KubernetesLoader", (base,), {"yaml_implicit_resolvers": resolvers})


_LOADER = _loader()


class UnreadableError(ValueError):
    """A file that no documents can be read from."""


def documents(data: bytes) -> list[Any]:
    """All documents of a file: JSON, one after the other, or YAML."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not UTF-8") from error
    if text.lstrip()[:1] in ("{", "["):
        found = _of_json(text, len(data))
        if found is not None:
            return found
    return _of_yaml(text, len(data))


def field_fault(error: msgspec.DecodeError) -> str:
    """What is wrong with a field; a number where text belongs is one that lacks its quotes."""
    found = _UNQUOTED.fullmatch(str(error))
    return f"{found[1]} is a number, not text: put it in quotes" if found else str(error)


def _of_json(text: str, size: int) -> list[Any] | None:
    """None where it is no JSON, and may be YAML that begins like it."""
    if size > MOST_JSON:
        raise UnreadableError(f"it is larger than {MOST_JSON >> 20} MiB")
    decoder, found = json.JSONDecoder(), list[Any]()
    place = _after_space(text, 0)
    try:
        while place < len(text):
            document, place = decoder.raw_decode(text, place)
            found.append(document)
            place = _after_space(text, place)
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error
    except ValueError:
        return None
    return found


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _of_yaml(text: str, size: int) -> list[Any]:
    if size > MOST_YAML:
        raise UnreadableError(f"it is YAML of more than {MOST_YAML >> 20} MiB; write it as JSON")
    try:
        found = list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        raise UnreadableError(f"it is no YAML: {_place(error)}") from error
    except (RecursionError, ValueError, OverflowError, TypeError) as error:
        raise UnreadableError(f"it is no YAML that can be read: {error}") from error
    for document in found:
        _measure(document)
    return [document for document in found if document is not None]


def _place(error: yaml.YAMLError) -> str:
    """What is wrong, and in which line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)


def _measure(document: Any) -> None:
    """Refuse what its anchors make huge, endless, or deeper than anything that is meant."""
    sizes: dict[int, int] = {}
    if _size(document, sizes, 0) > _MOST_VALUES:
        raise UnreadableError("its anchors make it huge")


def _size(value: Any, sizes: dict[int, int], depth: int) -> int:
    if not isinstance(value, dict | list):
        return 1
    if depth > _DEEPEST:
        raise UnreadableError("it is nested too deeply, or something in it contains itself")
    key = id(cast("object", value))
    if key not in sizes:
        inner = (
            cast("dict[Any, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        )
        sizes[key] = 1 + sum(_size(one, sizes, depth + 1) for one in inner)
    return sizes[key]
