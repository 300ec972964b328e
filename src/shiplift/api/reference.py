"""The reference page of the custom resources, written from the same schemas as their CRDs.

`python -m shiplift.api.reference > docs/reference/crds.md` renews it; a test says when that is due.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from shiplift.api import crd
from shiplift.api.base import Resource
from shiplift.api.registry import TYPES
from shiplift.api.schema import Schema

_HEAD = """\
<!-- written by `python -m shiplift.api.reference`; do not edit -->
# Custom resources

All are in the API group `shiplift.dev`, version `v1alpha1`; `kubectl get shiplift` shows them all.
`shiplift crds` prints their CustomResourceDefinitions. A field in **bold** must be given.

This release acts on UpgradeConfig, MachinePool, NodeRollout, WorkloadMigration, WorkloadOrder, AppType,
OperatorCatalog and QuorumService, and keeps Machine, WorkloadPlacement and OperatorVersion for itself.
`shiplift crds --layers machines,nodes` prints the kinds of the layers that are named, and no others.
"""
_BOUNDS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("maxProperties", "at most {} entries"),
)


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for resource in TYPES.values() for line in _kind(resource))]) + "\n"


def _kind(resource: type[Resource]) -> Iterator[str]:
    version = crd.manifest(resource.KIND)["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    yield f"## {resource.KIND}\n"
    yield f"{schema['description']}\n"
    scope = "in a namespace" if resource.KIND.namespaced else "for the whole cluster"
    columns = ", ".join(column["name"] for column in version["additionalPrinterColumns"])
    yield f"Plural `{resource.KIND.plural}`, short `{'`, `'.join(resource.SHORT_NAMES)}`, {scope}."
    yield f"Columns: {columns}.\n"
    for part in ("spec", "status"):
        yield from _fields(resource.KIND.kind, part, schema["properties"][part])
    yield from _rules(schema)


def _fields(kind: str, part: str, schema: Schema) -> Iterator[str]:
    yield f"### {kind} {part}\n"
    yield "| field | type | default | what it is |"
    yield "|---|---|---|---|"
    yield from (_row(*row) for row in _walk("", schema))
    yield ""


def _walk(prefix: str, schema: Schema) -> Iterator[tuple[str, bool, Schema]]:
    """Every field below a schema: its path, whether it must be given, and its schema."""
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}{'[]' if field.get('type') == 'array' else ''}"
        yield path, name in schema.get("required", ()), field
        yield from _walk(f"{path}.", field.get("items", field))


def _row(path: str, required: bool, schema: Schema) -> str:
    name = f"**`{path}`**" if required else f"`{path}`"
    scalar = schema.get("default") if not isinstance(schema.get("default"), dict) else None
    default = "" if scalar is None else f"`{_json(scalar)}`"
    return f"| {name} | {_type(schema)} | {default} | {_cell(schema['description'])} |"


def _type(schema: Schema) -> str:
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}{_bounds(schema)}"
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    if "x-kubernetes-int-or-string" in schema:
        return f"number or percentage{_bounds({**schema, 'maxLength': None})}"
    if "additionalProperties" in schema:
        return f"map of {_type(schema['additionalProperties'])}{_bounds(schema)}"
    if schema.get("format") == "date-time":
        return "time"
    return f"{schema['type']}{_bounds(schema)}"


def _bounds(schema: Schema) -> str:
    said = [words.format(schema[key]) for key, words in _BOUNDS if schema.get(key) is not None]
    return f" ({', '.join(said)})" if said else ""


def _rules(schema: Schema) -> Iterator[str]:
    messages = list(_messages(schema))
    if messages:
        yield "Refused by the API server besides:\n"
        yield from (f"- {message}" for message in messages)
        yield ""


def _messages(schema: Schema, path: str = "") -> Iterator[str]:
    """The rules over several fields; those of a single value are said by its type."""
    for rule in schema.get("x-kubernetes-validations", ()) if schema.get("type") == "object" else ():
        yield f"`{path.strip('.') or 'object'}`: {rule['message']}"
    for name, field in schema.get("properties", {}).items():
        yield from _messages(field.get("items", field), f"{path}.{name}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    sys.stdout.write(page())
