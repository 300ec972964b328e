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
    """A version of an operator in a namespace; of one that cannot be read only the name is known."""

    namespace: str
    bundle: Bundle
    unreadable: str = ""


def installed(client: Client) -> list[Running]:
    """All ClusterServiceVersions that are not copies; `NotFound` where the cluster does not know the kind."""
    return [_running(one) for one in client.list(CLUSTER_SERVICE_VERSION, label_selector=f"!{_COPIED}")]


def _running(one: dict[str, Any]) -> Running:
    name, namespace = one["metadata"]["name"], one["metadata"]["namespace"]
    try:
        return Running(namespace, _bundle(one))
    except (msgspec.ValidationError, msgspec.DecodeError, BundleError) as error:
        return Running(namespace, Bundle(name=name, version="-"), str(error))


def _bundle(one: dict[str, Any]) -> Bundle:
    version = csv.read(one)
    return bundle_of(version, csv.needs(csv.properties(version)))
