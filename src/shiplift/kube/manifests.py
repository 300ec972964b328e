"""Where the API server keeps what a manifest describes, from the manifest alone: nobody is asked.

Kinds that shiplift knows are exact. Of any other the plural is the regular one, and it is taken to be
namespaced where the manifest names a namespace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind

_KNOWN = {(one.api_version, one.kind): one for one in vars(kinds).values() if isinstance(one, Kind)}
_HISSING = ("s", "x", "ch", "sh")


def kind_of(manifest: Mapping[str, Any]) -> Kind:
    api_version, name = manifest["apiVersion"], manifest["kind"]
    if known := _KNOWN.get((api_version, name)):
        return known
    group, _, version = api_version.rpartition("/")
    return Kind(name, _plural(name.lower()), group, version, namespaced="namespace" in manifest["metadata"])


def _plural(name: str) -> str:
    if name.endswith("y") and name[-2] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(_HISSING) else f"{name}s"
