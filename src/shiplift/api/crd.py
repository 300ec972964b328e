"""The CustomResourceDefinitions, made from the Structs; the same input gives the same bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.api.base import Column, Resource
from shiplift.api.registry import TYPES
from shiplift.api.schema import Schema, defaults_in, describe_fields, rule_schema, schema_of
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind

CATEGORY = "shiplift"
AGE = Column("Age", ".metadata.creationTimestamp", "date")
READY = Column("Ready", ".status.conditions[?(@.type=='Ready')].status")


def manifests() -> list[dict[str, Any]]:
    """All CustomResourceDefinitions, in the order of the kinds."""
    return [manifest(kind) for kind in TYPES]


def manifest(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind."""
    crd = kinds.CUSTOM_RESOURCE_DEFINITION
    return {
        "apiVersion": crd.api_version,
        "kind": crd.kind,
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": _names(TYPES[kind]),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(TYPES[kind])],
        },
    }


def _names(resource: type[Resource]) -> dict[str, Any]:
    kind = resource.KIND
    return {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "shortNames": list(resource.SHORT_NAMES),
        "categories": [CATEGORY],
    }


def _version(resource: type[Resource]) -> dict[str, Any]:
    return {
        "name": resource.KIND.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _object(resource)},
        "subresources": {"status": {}, **(_SCALE if resource.SCALE else {})},
        "additionalPrinterColumns": [_column(column) for column in columns(resource)],
    }


_SCALE = {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}


def _object(resource: type[Resource]) -> Schema:
    """The whole object; its metadata is the API server's own and its status never comes from a default."""
    spec, status = (_part(resource, name) for name in ("spec", "status"))
    schema: Schema = {
        "type": "object",
        "description": " ".join((resource.__doc__ or "").split()),
        "required": ["spec"] if "default" not in spec else [],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": {key: value for key, value in status.items() if key != "default"},
        },
        "x-kubernetes-validations": [rule_schema(rule) for rule in resource.RULES],
    }
    return {key: value for key, value in schema.items() if value}


def _part(resource: type[Resource], name: str) -> Schema:
    field = next(field for field in msgspec.structs.fields(resource) if field.name == name)
    schema = schema_of(field.type) | {"description": describe_fields(resource)[name]}
    return schema if field.required else schema | {"default": defaults_in(schema)}


def columns(resource: type[Resource]) -> list[Column]:
    """What a person reads first: the kind's own, whether all is well, how old it is."""
    narrow, wide = ([one for one in resource.COLUMNS if one.wide is wide] for wide in (False, True))
    return [*narrow, *([READY] if resource.TELLS_READY else []), *wide, AGE]


def _column(column: Column) -> dict[str, Any]:
    shown = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **shown}
