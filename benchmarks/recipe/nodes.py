"""The nodes: labels of a cloud, conditions of kubelet and problem detector, a long list of images."""

from __future__ import annotations

import msgspec

from benchmarks.recipe.base import Json, digest, image, later, moment, node_name, seeded, service, uid

_TYPES = {"m7i.4xlarge": (16, 64), "r7i.4xlarge": (16, 128), "c7i.8xlarge": (32, 64)}
_IMAGES = 40
_CONDITIONS = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
    "KernelDeadlock": ("False", "KernelHasNoDeadlock", "kernel has no deadlock"),
    "ReadonlyFilesystem": ("False", "FilesystemIsNotReadOnly", "Filesystem is not read-only"),
    "FrequentKubeletRestart": ("False", "NoFrequentKubeletRestart", "kubelet is functioning properly"),
    "NetworkUnavailable": ("False", "RouteCreated", "network agent is ready"),
}


class Node(msgspec.Struct, frozen=True):
    """A node as kubelet registers it, and what it and the controllers write after that."""

    number: int
    body: Json
    status: Json
    spec: Json


def node(number: int) -> Node:
    rng = seeded("node", number)
    instance = f"i-0{digest(number)[:16]}"
    kind = sorted(_TYPES)[number % len(_TYPES)]
    taints = [{"key": "dedicated", "value": "apps", "effect": "NoSchedule"}] if number % 4 else []
    zone = "eu-1" + "abc"[number % 3]
    return Node(
        number,
        body={
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": node_name(number),
                "labels": _labels(number, kind, zone),
                "annotations": _annotations(number, instance),
            },
            "spec": {"providerID": f"aws:///{zone}/{instance}"},
        },
        status={"status": _status(number, kind, moment(rng))},
        spec={"spec": _addresses_of_pods(number) | {"taints": taints or None}},
    )


def _addresses_of_pods(number: int) -> Json:
    block = f"10.{64 + (number >> 8)}.{number & 255}.0/24"
    return {"podCIDR": block, "podCIDRs": [block]}


def _labels(number: int, kind: str, zone: str) -> Json:
    pool = f"pool-{number % 6}"
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/instance-type": kind,
        "failure-domain.beta.kubernetes.io/region": "eu-1",
        "failure-domain.beta.kubernetes.io/zone": zone,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": node_name(number),
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/region": "eu-1",
        "topology.kubernetes.io/zone": zone,
        "topology.ebs.csi.aws.com/zone": zone,
        "k8s.io/cloud-provider-aws": digest("cluster")[:32],
        "pool.example.com/name": pool,
        "pool.example.com/image": f"image-{digest(pool)[:17]}",
        "pool.example.com/capacity-type": "on-demand" if number % 5 else "spot",
    }


def _annotations(number: int, instance: str) -> Json:
    return {
        "alpha.kubernetes.io/provided-node-ip": _ip(number),
        "csi.volume.kubernetes.io/nodeid": f'{{"ebs.csi.aws.com":"{instance}"}}',
        "node.alpha.kubernetes.io/ttl": "300",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }


def _ip(number: int) -> str:
    return f"10.{number >> 8 & 255}.{number & 255}.17"


def _status(number: int, kind: str, start: str) -> Json:
    cores, gibibytes = _TYPES[kind]
    volumes = [f"kubernetes.io/csi/ebs.csi.aws.com^vol-0{digest(number, n)[:16]}" for n in range(number % 4)]
    return {
        "capacity": _room(cores * 1000, gibibytes << 20),
        "allocatable": _room(cores * 1000 - 110, (gibibytes << 20) - (1 << 20)),
        "conditions": [_condition(name, start, number) for name in _CONDITIONS],
        "addresses": [
            {"type": "InternalIP", "address": _ip(number)},
            {"type": "InternalDNS", "address": node_name(number)},
            {"type": "Hostname", "address": node_name(number)},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _info(number),
        "images": [_image(number, place) for place in range(_IMAGES)],
        "volumesInUse": volumes,
        "volumesAttached": [{"name": volume, "devicePath": ""} for volume in volumes],
        "runtimeHandlers": [{"name": name, "features": _HANDLER} for name in ("", "runc")],
        "features": {"supplementalGroupsPolicy": True},
    }


_HANDLER = {"recursiveReadOnlyMounts": True, "userNamespaces": True}


def _room(millicores: int, kibibytes: int) -> Json:
    return {
        "cpu": f"{millicores}m",
        "memory": f"{kibibytes}Ki",
        "ephemeral-storage": "104779756Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "pods": "234",
    }


def _condition(name: str, start: str, number: int) -> Json:
    value, reason, message = _CONDITIONS[name]
    return {
        "type": name,
        "status": value,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": later("2026-11-14T08:00:00Z", number % 300),
        "lastTransitionTime": later(start, len(name)),
    }


def _info(number: int) -> Json:
    return {
        "machineID": digest("machine", number)[:32],
        "systemUUID": uid("system", number),
        "bootID": uid("boot", number),
        "kernelVersion": "6.12.40-63.114",
        "osImage": "Bottlerocket OS 1.44.0",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kubeletVersion": "v1.35.4",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def _image(number: int, place: int) -> Json:
    workload = (number * 31 + place * 977) % 5000
    name = image(f"team-{workload % 120:03d}/{service(workload)}", f"1.{workload % 40}.{workload % 10}")
    repository = name.rpartition(":")[0]
    return {
        "names": [f"{repository}@sha256:{digest(name)}", name],
        "sizeBytes": 20_000_000 + workload * 37_411,
    }
