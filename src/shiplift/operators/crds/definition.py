"""A CustomResourceDefinition as the rules look at it: its versions, and every field of their schemas by path.

Kept true: whatever somebody wrote into one, it is read or refused by name, and never followed deeper than the
API server itself would go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

Json = dict[str, Any]
Schema = Mapping[str, Any]
Fields = Mapping[str, Schema]
"""The schema of each field, by path: `.spec.hosts[*].port`."""
_DEEPEST = 64
_MOST_FIELDS = 200_000
PRESERVES = "x-kubernetes-preserve-unknown-fields"


class DefinitionError(ValueError):
    """It is no CustomResourceDefinition that can be read."""


class Version(msgspec.Struct, frozen=True):
    """One version of a kind."""

    name: str
    served: bool
    storage: bool
    fields: Fields


class Definition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition, whichever API version it was written in."""

    name: str
    group: str
    kind: str
    plural: str
    scope: str
    versions: Mapping[str, Version]
    stored: tuple[str, ...] = ()
    """The versions in which objects may be stored, where the cluster says so."""

    @property
    def namespaced(self) -> bool:
        return self.scope == "Namespaced"


def read(manifest: Json) -> Definition:
    """A `DefinitionError` says what is missing."""
    try:
        return _read(manifest)
    except (KeyError, TypeError, AttributeError) as error:
        name = str(manifest.get("metadata") or {})[:80]
        raise DefinitionError(f"{name} is no CustomResourceDefinition: {error!r}") from error


def _read(manifest: Json) -> Definition:
    spec, names = manifest["spec"], manifest["spec"]["names"]
    pruned = (
        not str(manifest.get("apiVersion")).endswith("/v1beta1") or spec.get("preserveUnknownFields") is False
    )
    versions = {one["name"]: _version(spec, one, pruned=pruned) for one in _versions(spec)}
    status: Json = manifest.get("status") or {}
    stored: list[str] = status.get("storedVersions") or []
    return Definition(
        name=str(manifest["metadata"]["name"]),
        group=str(spec["group"]),
        kind=str(names["kind"]),
        plural=str(names["plural"]),
        scope=str(spec.get("scope") or "Namespaced"),
        versions=versions,
        stored=tuple(stored),
    )


def content_of(manifest: Json) -> str:
    """The sha256 of what a definition says, however it is written: its spec as sorted JSON without blanks."""
    return hashlib.sha256(msgspec.json.encode(manifest["spec"], order="deterministic")).hexdigest()


def stored_content_of(live: Json) -> str:
    """The sha256 of what a definition that is there says, with all that the API server adds; but for the
    certificates of a webhook, which others put there and renew."""
    spec: Json = live["spec"]
    conversion: Json = spec.get("conversion") or {}
    webhook: Json = conversion.get("webhook") or {}
    client: Json = webhook.get("clientConfig") or {}
    if "caBundle" in client:
        asked = {key: value for key, value in client.items() if key != "caBundle"}
        spec = {**spec, "conversion": {**conversion, "webhook": {**webhook, "clientConfig": asked}}}
    return content_of({"spec": spec})


class Listed(NamedTuple):
    """A version of a definition, without its schema."""

    name: str
    served: bool
    storage: bool


def listed(manifest: Json) -> list[Listed]:
    """The versions that it lists; what cannot be read is left to the API server to refuse."""
    spec: Json = manifest.get("spec") or {}
    found: list[Json] = spec.get("versions") or []
    return [Listed(str(one.get("name")), bool(one.get("served")), bool(one.get("storage"))) for one in found]


def storage_of(manifest: Json) -> str:
    """The version in which objects are stored from now on."""
    return next((one.name for one in listed(manifest) if one.storage), "")


def served_by(manifest: Json) -> tuple[str, ...]:
    return tuple(one.name for one in listed(manifest) if one.served)


def stored_in(live: Json) -> tuple[str, ...]:
    """The versions in which objects of a definition that is there may be stored."""
    status: Json = live.get("status") or {}
    return tuple(status.get("storedVersions") or ())


def _versions(spec: Json) -> list[Json]:
    """Those of `v1beta1` may be one version without a list."""
    return spec.get("versions") or [{"name": spec["version"], "served": True, "storage": True}]


def _version(spec: Json, version: Json, *, pruned: bool) -> Version:
    """In `v1beta1`, what no schema names is kept, unless it says otherwise."""
    schema: Json = version.get("schema") or spec.get("validation") or {}
    given: Json = schema.get("openAPIV3Schema") or {}
    root = {**given, **({} if pruned else {PRESERVES: True})}
    fields = dict(_fields(root, "", 0))
    if len(fields) > _MOST_FIELDS:
        raise DefinitionError(f"{spec['names']['kind']} has more than {_MOST_FIELDS:,} fields")
    return Version(str(version["name"]), bool(version.get("served")), bool(version.get("storage")), fields)


def _fields(schema: Json, path: str, depth: int) -> Iterator[tuple[str, Schema]]:
    """The field itself, and all below it."""
    if depth > _DEEPEST:
        raise DefinitionError(f"its schema is nested deeper than {_DEEPEST} at {path[:120]}")
    yield path, {name: value for name, value in schema.items() if not _is_below(name, value)}
    properties: Json = schema.get("properties") or {}
    for name, below in properties.items():
        yield from _fields(below, f"{path}.{name}", depth + 1)
    for name, step in (("items", "[*]"), ("additionalProperties", "{*}")):
        below = schema.get(name)
        if isinstance(below, dict):
            yield from _fields(cast("Json", below), f"{path}{step}", depth + 1)


def _is_below(name: str, value: Any) -> bool:
    return name == "properties" or (name in ("items", "additionalProperties") and isinstance(value, dict))


def above(path: str) -> Iterator[str]:
    """The paths of the fields that it is in, the nearest first."""
    while path:
        cut = max(path.rfind("."), path.rfind("["), path.rfind("{"))
        path = path[:cut]
        yield path


def keeps_unknown(fields: Fields, path: str) -> bool:
    """Whether a field there is kept although no schema names it."""
    nearest = next((one for one in above(path) if one in fields), None)
    return nearest is not None and preserves(fields[nearest])


def preserves(schema: Schema) -> bool:
    """Whether what is below it is kept although no schema names it."""
    return bool(schema.get(PRESERVES)) or schema.get("additionalProperties") is True
