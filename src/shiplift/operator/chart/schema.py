"""The schema of the chart's values: closed, so that a slip is an error, not a setting that does nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shiplift.operator.inside import MOST_REPLICAS

Schema = dict[str, Any]

_QUANTITY: Schema = {
    "type": ["string", "integer", "number"],
    "minimum": 0,
    "pattern": "^[0-9]+(\\.[0-9]+)?([numkMGTPE]|[KMGTPE]i)?$",
}
_PART = "[a-z0-9]+([._-]+[a-z0-9]+)*"
_REPOSITORY = f"^([a-z0-9][a-z0-9.-]*(:[0-9]+)?/)?{_PART}(/{_PART})*$"
"""Without a tag: that has a value of its own."""
_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_NAME: Schema = {"type": "string", "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"}
_PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
_SWITCH: Schema = {"type": "boolean"}


def of_values(layers: Iterable[str]) -> Schema:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart shiplift",
        **_closed(
            {
                "layers": _listed({"enum": list(layers)}, least=1),
                "image": _image(),
                "replicas": {"type": "integer", "minimum": 1, "maximum": MOST_REPLICAS},
                "resources": _closed({"requests": _amounts(), "limits": _amounts()}),
                "nodeSelector": _TEXTS,
                "tolerations": {"type": "array", "items": _toleration()},
                "env": {"type": "array", "items": _variable()},
                "podTemplates": _SWITCH,
                "networkPolicy": _closed(
                    {
                        "enabled": _SWITCH,
                        "apiPorts": _listed(_PORT, least=1),
                        "egressPorts": _listed(_PORT, least=0),
                    },
                    needed=("apiPorts",),
                ),
                "crds": _closed({"install": _SWITCH}),
                "metrics": _closed(
                    {
                        "tlsSecret": _NAME,
                        "tokenSecret": _NAME,
                        "serviceMonitor": _SWITCH,
                        "alerts": _SWITCH,
                        "dashboard": _SWITCH,
                        "labels": _TEXTS,
                    }
                ),
                "global": {"type": "object"},
            },
            needed=("layers", "image", "replicas", "networkPolicy", "metrics", "crds"),
        ),
    }


def _image() -> Schema:
    secret = _closed({"name": {"type": "string", "minLength": 1}}, needed=("name",))
    return _closed(
        {
            "repository": {"type": "string", "pattern": _REPOSITORY},
            "tag": {"type": "string", "pattern": "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$"},
            "digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
            "pullSecrets": {"type": "array", "items": secret},
        },
        needed=("repository",),
    )


def _toleration() -> Schema:
    words = ("key", "operator", "value", "effect")
    known: Schema = {
        "operator": {"enum": ["Exists", "Equal"]},
        "effect": {"enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute"]},
        "tolerationSeconds": {"type": "integer"},
    }
    return _closed({word: {"type": "string"} for word in words} | known)


def _variable() -> Schema:
    """A value that everybody may read, such as a proxy: nothing secret is set by it."""
    return _closed(
        {"name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*$"}, "value": {"type": "string"}},
        ("name", "value"),
    )


def _amounts() -> Schema:
    return _closed({"cpu": _QUANTITY, "memory": _QUANTITY})


def _closed(properties: Schema, needed: Iterable[str] = ()) -> Schema:
    found: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return found | ({"required": list(needed)} if needed else {})


def _listed(items: Schema, least: int) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True}
