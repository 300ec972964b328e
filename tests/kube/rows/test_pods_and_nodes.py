"""Every field of every row, from objects that a real API server has stored."""

from __future__ import annotations

from typing import Any

from shiplift.facts import kinds
from shiplift.facts.meta import Condition, Owner
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Container, HostPort, Pod, PodTerm, Spread, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.kube.client import Client
from shiplift.kube.rows import KIND_OF, PROTOBUF
from tests.kube.rows.stored import MI, MOMENT, SECONDS, SPACE, stored


def test_every_kind_with_a_decoder_has_a_row_type() -> None:
    assert set(PROTOBUF) == set(KIND_OF.values())


POD_SPEC: dict[str, Any] = {
    "nodeName": "n1",
    "containers": [
        {
            "name": "app",
            "image": "example/app:1",
            "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1"}, {"containerPort": 81}],
            "resources": {
                "requests": {"cpu": "250m", "memory": "64Mi", "example.com/gpu": "2"},
                "limits": {"example.com/gpu": "2"},
            },
        },
        {"name": "side", "image": "example/side:2", "resources": {"requests": {"cpu": "0.5"}}},
    ],
    "initContainers": [
        {"name": "mesh", "image": "m", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
        {"name": "setup", "image": "s", "resources": {"requests": {"cpu": "2", "memory": "1Mi"}}},
    ],
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7}],
    "nodeSelector": {"disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
                        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}],
                    }
                ]
            },
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "x"}},
                    "topologyKey": "kubernetes.io/hostname",
                    "namespaces": ["other"],
                }
            ]
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "zone",
                    "namespaceSelector": {},
                    "labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
                }
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 2,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "minDomains": 3,
            "nodeTaintsPolicy": "Honor",
            "nodeAffinityPolicy": "Ignore",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
    ],
    "priorityClassName": "system-cluster-critical",
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "claim-1"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": "/var/log"}},
        {
            "name": "fast",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                }
            },
        },
    ],
    "terminationGracePeriodSeconds": 5,
    "overhead": None,
    "schedulerName": "special",
    "restartPolicy": "OnFailure",
}


def test_a_pod(client: Client) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u-1", "controller": True}
    body = {
        "metadata": {
            "name": "p",
            "labels": {"app": "x"},
            "annotations": {
                "controller.kubernetes.io/pod-deletion-cost": "-1",
                "noise": "x" * 300,
                "kapp.k14s.io/change-group": "g",
                "demo.shiplift.dev/note": "y",
            },
            "ownerReferences": [owner],
            "finalizers": ["example.com/wait"],
        },
        "spec": POD_SPEC,
    }
    conditions = [
        {"type": "Ready", "status": "True", "lastTransitionTime": MOMENT},
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
    ]
    containers = [
        {
            "name": name,
            "ready": True,
            "restartCount": count,
            "image": "i",
            "imageID": f"sha256:{count}",
            "state": {"running": {"startedAt": MOMENT}},
        }
        for name, count in (("app", 2), ("side", 3))
    ]
    status = {
        "phase": "Running",
        "conditions": conditions,
        "podIP": "10.0.0.9",
        "startTime": MOMENT,
        "containerStatuses": containers,
    }
    row = stored(client, kinds.POD, body, status)
    assert isinstance(row, Pod)
    assert row.labels == {"app": "x"}
    assert row.annotations == {
        "controller.kubernetes.io/pod-deletion-cost": "-1",
        "kapp.k14s.io/change-group": "g",
        "demo.shiplift.dev/note": "y",
    }
    assert row.controller == Owner("ReplicaSet", "rs", "u-1", True, "apps/v1")
    assert row.finalizers == ("example.com/wait",)
    assert (row.node, row.phase, row.ready, row.ready_since) == ("n1", "Running", True, SECONDS)
    assert (row.ip, row.started) == ("10.0.0.9", SECONDS)
    assert (row.restarts, row.waiting, row.image_ids) == (5, "", ("sha256:2", "sha256:3"))
    assert (row.disruption, row.unschedulable) == ("EvictionByEvictionAPI", "")
    assert row.deleting == 0
    assert row.created > SECONDS - 10**9
    spec = row.spec
    assert spec.containers == (Container("app", "example/app:1"), Container("side", "example/side:2"))
    # start-up needs 100m + 2 cores, running 250m + 500m + 100m; memory the larger of 1Mi and 64Mi
    assert spec.requests == Resources(2100, 64 * MI, 0, 1, (("example.com/gpu", 2),))
    assert Toleration("a", "Exists", "", "NoExecute", 7) in spec.tolerations
    assert spec.node_selector == {"disk": "ssd"}
    assert spec.node_terms == (
        NodeTerm((Requirement("zone", "In", ("a", "b")),), (Requirement("metadata.name", "NotIn", ("n9",)),)),
    )
    app_x = Selector(row.labels)
    assert spec.anti_affinity == (PodTerm(app_x, "kubernetes.io/hostname", ("other",)),)
    (together,) = spec.affinity
    assert together.selector == Selector(row.labels.__class__(), (Requirement("tier", "Exists"),))
    assert together.namespace_selector == Selector(row.labels.__class__())
    assert spec.spread == (Spread(2, "zone", True, app_x, 3, False, True),)
    assert (spec.priority_class, spec.priority) == ("system-cluster-critical", 2_000_000_000)
    assert (spec.claims, spec.ephemeral_claims) == (("claim-1",), ("fast",))
    assert (spec.empty_dir, spec.host_path, spec.host_network) == (True, True, False)
    assert spec.host_ports == (HostPort(8080, "TCP", "127.0.0.1"),)
    assert (spec.grace, spec.scheduler, spec.restart_policy) == (5, "special", "OnFailure")
    assert spec.service_account == "default"


def test_a_pod_that_waits(client: Client) -> None:
    body = {
        "metadata": {"name": "p"},
        "spec": {
            "schedulingGates": [{"name": "example.com/gate"}],
            "containers": [{"name": "a", "image": "b"}],
        },
    }
    status = {
        "phase": "Pending",
        "nominatedNodeName": "n2",
        "conditions": [
            {"type": "Ready", "status": "False"},
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/6 nodes fit",
            },
        ],
        "containerStatuses": [
            {
                "name": "a",
                "ready": False,
                "restartCount": 9,
                "image": "b",
                "imageID": "",
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            }
        ],
    }
    row = stored(client, kinds.POD, body, status)
    assert isinstance(row, Pod)
    assert (row.ready, row.ready_since, row.unschedulable) == (False, 0, "0/6 nodes fit")
    assert row.nominated_node == "n2"
    assert (row.waiting, row.restarts, row.node, row.spec.gates) == (
        "CrashLoopBackOff",
        9,
        "",
        ("example.com/gate",),
    )


def test_siblings_share_one_specification_whatever_their_token_volume_is_called(client: Client) -> None:
    body = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    rows = [
        stored(client, kinds.POD, body | {"metadata": {"name": name, "labels": {"app": "x"}}})
        for name in ("one", "two")
    ]
    names = {
        volume["name"] for row in rows for volume in client.get(kinds.POD, row.name, SPACE)["spec"]["volumes"]
    }
    assert len(names) == 2
    assert all(name.startswith("kube-api-access-") for name in names)
    one, two = rows
    assert isinstance(one, Pod)
    assert isinstance(two, Pod)
    assert one.spec is two.spec
    assert one.labels is two.labels


def test_a_node(client: Client) -> None:
    body = {
        "metadata": {"name": "n1", "labels": {"zone": "a"}},
        "spec": {
            "unschedulable": True,
            "providerID": "x://1",
            "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
        },
    }
    info = {
        "machineID": "m",
        "systemUUID": "s",
        "bootID": "b",
        "kernelVersion": "6.1",
        "osImage": "Debian",
        "containerRuntimeVersion": "containerd://2",
        "kubeletVersion": "v1.35.4",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "arm64",
    }
    status = {
        "nodeInfo": info,
        "allocatable": {"cpu": "3900m", "memory": "7Gi", "pods": "110", "ephemeral-storage": "10Gi"},
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "ok",
                "lastTransitionTime": MOMENT,
            }
        ],
        "volumesInUse": ["csi/1"],
        "volumesAttached": [{"name": "csi/1", "devicePath": ""}],
    }
    row = stored(client, kinds.NODE, body, status)
    assert isinstance(row, Node)
    assert (row.kubelet_version, row.unschedulable, row.ready) == ("v1.35.4", True, True)
    assert Taint("k", "v", "NoSchedule") in row.taints
    assert row.conditions == (Condition("Ready", "True", "KubeletReady", "ok", SECONDS),)
    assert row.allocatable == Resources(3900, 7 << 30, 10 << 30, 110)
    assert row.capacity == Resources(4000, 8 << 30, 0, 110)
    assert row.addresses == (("InternalIP", "10.1.1.1"),)
    assert (row.provider_id, row.machine_id, row.boot_id) == ("x://1", "m", "b")
    assert (row.os_image, row.kernel_version, row.container_runtime) == ("Debian", "6.1", "containerd://2")
    assert (row.operating_system, row.architecture) == ("linux", "arm64")
    assert (row.volumes_in_use, row.volumes_attached) == (("csi/1",), ("csi/1",))
