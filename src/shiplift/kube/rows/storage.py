"""From messages of volumes to their rows."""

from __future__ import annotations

from sys import intern
from typing import Any

from shiplift.facts.quantities import whole
from shiplift.facts.selectors import Requirement
from shiplift.facts.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from shiplift.kube.rows import meta
from shiplift.kube.wire import MESSAGES


def _storage(amounts: Any) -> int:
    return next((whole(one.value.string) for one in amounts if one.key == "storage"), 0)


def persistent_volume(raw: bytes) -> PersistentVolume:
    message = MESSAGES["PersistentVolume"].FromString(raw)
    spec, source = message.spec, message.spec.persistentVolumeSource
    required = spec.nodeAffinity.HasField("required")
    return PersistentVolume(
        **meta.meta(message.metadata),
        phase=intern(message.status.phase),
        storage_class=intern(spec.storageClassName),
        capacity=_storage(spec.capacity),
        access_modes=tuple(map(intern, spec.accessModes)),
        reclaim_policy=intern(spec.persistentVolumeReclaimPolicy),
        claim_namespace=intern(spec.claimRef.namespace),
        claim_name=spec.claimRef.name,
        claim_uid=spec.claimRef.uid,
        node_terms=meta.node_terms(spec.nodeAffinity.required) if required else None,
        local=source.HasField("local") or source.HasField("hostPath"),
        driver=intern(source.csi.driver),
        handle=source.csi.volumeHandle,
    )


def persistent_volume_claim(raw: bytes) -> PersistentVolumeClaim:
    message = MESSAGES["PersistentVolumeClaim"].FromString(raw)
    spec = message.spec
    return PersistentVolumeClaim(
        **meta.meta(message.metadata),
        phase=intern(message.status.phase),
        volume=spec.volumeName,
        storage_class=intern(spec.storageClassName),
        access_modes=tuple(map(intern, spec.accessModes)),
        requested=_storage(spec.resources.requests),
    )


def storage_class(raw: bytes) -> StorageClass:
    message = MESSAGES["StorageClass"].FromString(raw)
    return StorageClass(
        **meta.meta(message.metadata),
        provisioner=message.provisioner,
        binding_mode=intern(message.volumeBindingMode),
        reclaim_policy=intern(message.reclaimPolicy),
        allowed_topologies=tuple(
            tuple(Requirement(one.key, "In", tuple(one.values)) for one in term.matchLabelExpressions)
            for term in message.allowedTopologies
        ),
    )


def volume_attachment(raw: bytes) -> VolumeAttachment:
    message = MESSAGES["VolumeAttachment"].FromString(raw)
    return VolumeAttachment(
        **meta.meta(message.metadata),
        attacher=intern(message.spec.attacher),
        node=intern(message.spec.nodeName),
        volume=message.spec.source.persistentVolumeName,
        attached=message.status.attached,
    )
