"""From a Node message to its row."""

from __future__ import annotations

from sys import intern

from shiplift.facts.nodes import Node, Taint
from shiplift.kube.rows import meta
from shiplift.kube.wire import MESSAGES

_NODE = MESSAGES["Node"].FromString


def node(raw: bytes) -> Node:
    message = _NODE(raw)
    spec, status = message.spec, message.status
    info = status.nodeInfo
    conditions = meta.conditions(status.conditions)
    return Node(
        **meta.meta(message.metadata),
        kubelet_version=intern(info.kubeletVersion),
        unschedulable=spec.unschedulable,
        taints=tuple(Taint(intern(one.key), intern(one.value), intern(one.effect)) for one in spec.taints),
        ready=any(one.type == "Ready" and one.status == "True" for one in conditions),
        conditions=conditions,
        allocatable=meta.amounts(status.allocatable),
        capacity=meta.amounts(status.capacity),
        addresses=tuple((intern(one.type), one.address) for one in status.addresses),
        provider_id=spec.providerID,
        machine_id=info.machineID,
        boot_id=info.bootID,
        os_image=intern(info.osImage),
        kernel_version=intern(info.kernelVersion),
        container_runtime=intern(info.containerRuntimeVersion),
        operating_system=intern(info.operatingSystem),
        architecture=intern(info.architecture),
        volumes_in_use=tuple(status.volumesInUse),
        volumes_attached=tuple(one.name for one in status.volumesAttached),
    )
