"""An `OperatorCatalog` and the ConfigMaps that hold it: the index in pieces, manifests bundle by bundle."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from shiplift.api.operators import CatalogFormat
from shiplift.facts.kinds import CONFIG_MAP, OPERATOR_CATALOG
from shiplift.operators.catalog.payload import Payloads

Json = dict[str, Any]
CATALOG_LABEL = "operators.shiplift.dev/catalog"
PART_LABEL = "operators.shiplift.dev/part"
INDEX_PART, PAYLOAD_PART = "index", "bundle"
_PIECE = 700 << 10
"""Bytes of a piece: an object in a cluster holds a good megabyte, and text makes four thirds of it."""


class TooLargeError(ValueError):
    """What no ConfigMap can hold."""


def in_folder(name: str, path: str) -> Json:
    """The catalog, to be read from a folder that the operator sees."""
    return _catalog(name, {"folder": {"path": path}})


def in_config_maps(name: str, namespace: str, index: bytes, payloads: Payloads) -> Iterator[Json]:
    """The ConfigMaps, and then the catalog that is made of them."""
    for number, begin in enumerate(range(0, len(index), _PIECE)):
        yield _config_map(
            f"{name}-index-{number:03}", namespace, name, INDEX_PART, index[begin : begin + _PIECE]
        )
    for digest, data in sorted(payloads.items()):
        if len(data) > _PIECE:
            raise TooLargeError(
                f"the manifests {digest} are too large for a ConfigMap: {len(data):,} bytes packed"
            )
        yield _config_map(
            f"{name}-{digest.removeprefix('sha256:')[:40]}", namespace, name, PAYLOAD_PART, data
        )
    labels = {CATALOG_LABEL: name, PART_LABEL: INDEX_PART}
    yield _catalog(name, {"configMaps": {"namespace": namespace, "selector": {"matchLabels": labels}}})


def _catalog(name: str, source: Json) -> Json:
    return {
        "apiVersion": OPERATOR_CATALOG.api_version,
        "kind": OPERATOR_CATALOG.kind,
        "metadata": {"name": name},
        "spec": {"source": source, "format": CatalogFormat.INDEX.value},
    }


def _config_map(name: str, namespace: str, catalog: str, part: str, data: bytes) -> Json:
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {CATALOG_LABEL: catalog, PART_LABEL: part},
        },
        "binaryData": {"data": base64.b64encode(data).decode()},
    }
