"""Small CustomResourceDefinitions for tests."""

from __future__ import annotations

from typing import Any

from shiplift.operators.crds.definition import Definition, read

Json = dict[str, Any]


def spec_of(**properties: Any) -> Json:
    """A schema whose `spec` has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def version(
    name: str = "v1", schema: Json | None = None, *, served: bool = True, storage: bool = True
) -> Json:
    said = {"openAPIV3Schema": schema if schema is not None else spec_of(size={"type": "integer"})}
    return {"name": name, "served": served, "storage": storage, "schema": said}


def crd(
    *versions: Json, scope: str = "Namespaced", stored: tuple[str, ...] = (), plural: str = "boats"
) -> Json:
    names = {"kind": "Boat", "plural": plural, "singular": "boat", "listKind": "BoatList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.harbour.example"},
        "spec": {
            "group": "harbour.example",
            "scope": scope,
            "names": names,
            "versions": list(versions) or [version()],
        },
        **({"status": {"storedVersions": list(stored)}} if stored else {}),
    }


def definition(*versions: Json, **fields: Any) -> Definition:
    return read(crd(*versions, **fields))


def field(**schema: Any) -> Definition:
    """A definition whose one field has this schema."""
    return definition(version(schema=spec_of(field=schema)))
