"""From messages of services, namespaces, leases and definitions to their rows."""

from __future__ import annotations

from sys import intern

from shiplift.facts.cluster import CrdVersion, CustomResourceDefinition, Lease, Namespace, Service
from shiplift.kube.rows import meta
from shiplift.kube.wire import MESSAGES


def service(raw: bytes) -> Service:
    message = MESSAGES["Service"].FromString(raw)
    spec = message.spec
    return Service(
        **meta.meta(message.metadata),
        type=intern(spec.type),
        selector=meta.labels.of(*spec.selector),
        cluster_ip=spec.clusterIP,
        publishes_unready=spec.publishNotReadyAddresses,
    )


def namespace(raw: bytes) -> Namespace:
    message = MESSAGES["Namespace"].FromString(raw)
    return Namespace(**meta.meta(message.metadata), phase=intern(message.status.phase))


def lease(raw: bytes) -> Lease:
    message = MESSAGES["Lease"].FromString(raw)
    spec = message.spec
    return Lease(
        **meta.meta(message.metadata),
        holder=spec.holderIdentity,
        duration=spec.leaseDurationSeconds,
        transitions=spec.leaseTransitions,
        renewed=meta.seconds(spec.renewTime),
    )


def custom_resource_definition(raw: bytes) -> CustomResourceDefinition:
    message = MESSAGES["CustomResourceDefinition"].FromString(raw)
    spec, status = message.spec, message.status
    return CustomResourceDefinition(
        **meta.meta(message.metadata),
        group=intern(spec.group),
        kind=spec.names.kind,
        plural=spec.names.plural,
        scope=intern(spec.scope),
        versions=tuple(CrdVersion(one.name, one.served, one.storage) for one in spec.versions),
        stored_versions=tuple(status.storedVersions),
        conditions=meta.conditions(status.conditions),
    )
