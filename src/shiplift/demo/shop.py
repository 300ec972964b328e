"""A small shop: the sample workloads of the demo, as data."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml

_ORDER = "WorkloadOrder"


def manifests() -> list[dict[str, Any]]:
    """In the order in which they are to be created."""
    text = resources.files("shiplift.demo").joinpath("shop.yaml").read_text()
    return list(yaml.safe_load_all(text))


def without_order() -> list[dict[str, Any]]:
    """Without who waits for whom, which only the layer workloads knows."""
    return [one for one in manifests() if one["kind"] != _ORDER]


def needs() -> dict[str, tuple[str, ...]]:
    """Of each workload of the shop, by name, what it says that it needs."""
    orders = [manifest for manifest in manifests() if manifest["kind"] == _ORDER]
    return {
        one["name"]: tuple(other["name"] for other in one["dependsOn"])
        for order in orders
        for one in order["spec"]["workloads"]
    }
