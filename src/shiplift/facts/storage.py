"""What is known of volumes: where they can be used, and where they are."""

from __future__ import annotations

from shiplift.facts.meta import Row
from shiplift.facts.selectors import NodeTerm, Requirement


class PersistentVolume(Row, frozen=True, gc=False, kw_only=True):
    phase: str
    storage_class: str
    capacity: int
    access_modes: tuple[str, ...]
    reclaim_policy: str
    claim_namespace: str
    claim_name: str
    claim_uid: str
    node_terms: tuple[NodeTerm, ...] | None
    """Where it can be used; None is everywhere."""
    local: bool
    """On one machine (local or hostPath): it cannot follow its pod."""
    driver: str
    handle: str


class PersistentVolumeClaim(Row, frozen=True, gc=False, kw_only=True):
    phase: str
    volume: str
    storage_class: str
    access_modes: tuple[str, ...]
    requested: int


class StorageClass(Row, frozen=True, gc=False, kw_only=True):
    provisioner: str
    binding_mode: str
    reclaim_policy: str
    allowed_topologies: tuple[tuple[Requirement, ...], ...]


class VolumeAttachment(Row, frozen=True, gc=False, kw_only=True):
    attacher: str
    node: str
    volume: str
    attached: bool
