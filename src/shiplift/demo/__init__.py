"""A small shop: the sample workloads of the demo, as data."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml


def shop() -> list[dict[str, Any]]:
    """The manifests in the order in which they are to be created."""
    text = resources.files("shiplift.demo").joinpath("shop.yaml").read_text()
    return list(yaml.safe_load_all(text))


def needs() -> dict[str, tuple[str, ...]]:
    """Of each workload of the shop, by name, what it says that it needs."""
    orders = [manifest for manifest in shop() if manifest["kind"] == "WorkloadOrder"]
    return {
        one["name"]: tuple(other["name"] for other in one["dependsOn"])
        for order in orders
        for one in order["spec"]["workloads"]
    }
