"""What is known of a Node."""

from __future__ import annotations

import msgspec

from shiplift.facts.meta import Condition, Row
from shiplift.facts.quantities import Resources


class Taint(msgspec.Struct, frozen=True, gc=False):
    key: str
    value: str
    effect: str


class Node(Row, frozen=True, gc=False, kw_only=True):
    """A Node. Heartbeat times are left out: they change all the time and decide nothing."""

    kubelet_version: str
    unschedulable: bool
    taints: tuple[Taint, ...]
    ready: bool
    conditions: tuple[Condition, ...]
    allocatable: Resources
    capacity: Resources
    addresses: tuple[tuple[str, str], ...]
    provider_id: str
    machine_id: str
    boot_id: str
    os_image: str
    kernel_version: str
    container_runtime: str
    operating_system: str
    architecture: str
    volumes_in_use: tuple[str, ...]
    volumes_attached: tuple[str, ...]
