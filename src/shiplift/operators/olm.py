"""The operators that OLM runs in a cluster, as its ClusterServiceVersions say."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.operators.catalog import csv
from shiplift.operators.catalog.bundle_folders import BundleError, bundle_of
from shiplift.operators.catalog.model import Bundle

CLUSTER_SERVICE_VERSION = Kind(
    "ClusterServiceVersion", "clusterserviceversions", "operators.coreos.com", "v1alpha1"
)
_COPIED = "olm.copiedFrom"
"""The label of a copy that OLM makes in every namespace that an operator watches."""


class Running(msgspec.Struct, frozen=True):
    """A version of an operator in a namespace."""

    namespace: str
    bundle: Bundle


class Found(msgspec.Struct, frozen=True):
    """What runs, and what cannot be read, with the reason."""

    running: tuple[Running, ...]
    unreadable: tuple[tuple[str, str], ...]


def installed(client: Client) -> Found:
    """All ClusterServiceVersions that are not copies; `NotFound` where the cluster does not know the kind."""
    running: list[Running] = []
    unreadable: list[tuple[str, str]] = []
    for one in client.list(CLUSTER_SERVICE_VERSION, label_selector=f"!{_COPIED}"):
        name, namespace = one["metadata"]["name"], one["metadata"]["namespace"]
        try:
            running.append(Running(namespace, _bundle(one)))
        except (msgspec.ValidationError, msgspec.DecodeError, BundleError) as error:
            unreadable.append((f"{namespace}/{name}", str(error)))
    return Found(tuple(running), tuple(unreadable))


def _bundle(one: dict[str, Any]) -> Bundle:
    version = csv.read(one)
    return bundle_of(version, csv.needs(csv.properties(version)))
