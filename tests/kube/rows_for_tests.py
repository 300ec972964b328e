"""Rows made by hand, for tests that need no API server."""

from __future__ import annotations

from shiplift.facts.cluster import Namespace
from shiplift.facts.meta import NO_LABELS, Labels, Owner
from shiplift.facts.pods import Pod, PodSpec


def a_pod(
    uid: str,
    version: int = 1,
    *,
    namespace: str = "shop",
    name: str = "",
    node: str = "",
    owners: tuple[Owner, ...] = (),
    labels: Labels = NO_LABELS,
) -> Pod:
    return Pod(
        namespace=namespace,
        name=name or uid,
        uid=uid,
        resource_version=version,
        generation=0,
        created=0,
        deleting=0,
        labels=labels,
        annotations=NO_LABELS,
        owners=owners,
        finalizers=(),
        node=node,
        spec=PodSpec(),
        phase="Running",
        ready=True,
        ready_since=0,
        unschedulable="",
        disruption="",
        reason="",
        ip="",
        nominated_node="",
        started=0,
        restarts=0,
        waiting="",
        image_ids=(),
    )


def a_namespace(uid: str, version: int = 1, *, name: str = "") -> Namespace:
    return Namespace(
        namespace="",
        name=name or uid,
        uid=uid,
        resource_version=version,
        generation=0,
        created=0,
        deleting=0,
        labels=NO_LABELS,
        annotations=NO_LABELS,
        owners=(),
        finalizers=(),
        phase="Active",
    )
