"""Every field of every row, from objects that a real API server has stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.facts.cluster import CrdVersion, CustomResourceDefinition, Lease, Namespace, Service
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Condition, Owner, Row
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Container, HostPort, Pod, PodTerm, Spread, Toleration
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm, Requirement, Selector
from shiplift.facts.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from shiplift.facts.workloads import (
    ControllerRevision,
    DaemonSet,
    Deployment,
    HorizontalPodAutoscaler,
    Job,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from shiplift.kube.client import Client, PatchType
from shiplift.kube.rows import KIND_OF, PROTOBUF
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.watch import Watch
from shiplift.local.cluster import Cluster

SPACE = "rows"
MOMENT, SECONDS = "2026-11-15T01:02:03Z", 1794704523
MI = 1 << 20


@pytest.fixture
def client(private_cluster: Callable[..., Cluster]) -> Iterator[Client]:
    with private_cluster().client() as client:
        client.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
        client.create(Kind("ServiceAccount", "serviceaccounts"), {"metadata": {"name": "default"}}, SPACE)
        yield client


def stored(client: Client, kind: Kind, body: dict[str, Any], status: dict[str, Any] | None = None) -> Row:
    """What the store shows of an object, in its initial state; an update must show the same."""
    name = body["metadata"]["name"]
    space = SPACE if kind.namespaced else ""
    made = client.create(kind, body, space).object
    if status is not None:
        patch = {"status": status}
        about = made["metadata"]
        client.patch(
            kind,
            name,
            patch,
            space,
            type=PatchType.MERGE,
            uid=about["uid"],
            resource_version=about["resourceVersion"],
            subresource="status",
        )
    row = _synced(client, kind, made["metadata"]["uid"])
    assert (row.namespace, row.name, row.uid) == (space, name, made["metadata"]["uid"])
    return row


def _synced(client: Client, kind: Kind, uid: str) -> Row:
    store = Store(client.credentials, [Watch(kind)])
    store.start()
    try:
        assert store.wait_synced(20)
        rows = {row.uid: row for row in _all(store.snapshot(), kind)}
        return rows[uid]
    finally:
        store.stop()


def _all(snapshot: Snapshot, kind: Kind) -> list[Row]:
    return list(snapshot.all(next(rows for rows, of in KIND_OF.items() if of == kind)))


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


TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
SELECTOR = {"matchLabels": {"app": "x"}}


def test_a_deployment(client: Client) -> None:
    spec = {
        "replicas": 3,
        "selector": SELECTOR,
        "template": TEMPLATE,
        "minReadySeconds": 4,
        "paused": True,
        "progressDeadlineSeconds": 99,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "30%", "maxSurge": 2}},
    }
    status = {
        "observedGeneration": 1,
        "replicas": 5,
        "updatedReplicas": 4,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "terminatingReplicas": 1,
        "conditions": [
            {
                "type": "Progressing",
                "status": "True",
                "reason": "R",
                "message": "m",
                "lastTransitionTime": MOMENT,
                "lastUpdateTime": MOMENT,
            }
        ],
    }
    row = stored(client, kinds.DEPLOYMENT, {"metadata": {"name": "d"}, "spec": spec}, status)
    assert isinstance(row, Deployment)
    assert (row.replicas, row.paused, row.strategy) == (3, True, "RollingUpdate")
    assert (row.max_unavailable, row.max_surge, row.progress_deadline) == ("30%", 2, 99)
    assert (row.min_ready_seconds, row.observed_generation, row.generation) == (4, 1, 1)
    assert (row.current_replicas, row.updated_replicas, row.ready_replicas) == (5, 4, 3)
    assert (row.available_replicas, row.terminating_replicas) == (2, 1)
    assert row.conditions == (Condition("Progressing", "True", "R", "m", SECONDS),)
    assert row.selector == Selector(row.template_labels)
    assert row.template.containers == (Container("a", "b"),)


def test_a_stateful_set(client: Client) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = {
        "replicas": 4,
        "selector": SELECTOR,
        "template": TEMPLATE,
        "serviceName": "svc",
        "minReadySeconds": 1,
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [claim],
        "ordinals": {"start": 7},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
    }
    status = {
        "observedGeneration": 1,
        "replicas": 4,
        "readyReplicas": 3,
        "updatedReplicas": 2,
        "availableReplicas": 1,
        "currentRevision": "r1",
        "updateRevision": "r2",
    }
    row = stored(client, kinds.STATEFUL_SET, {"metadata": {"name": "s"}, "spec": spec}, status)
    assert isinstance(row, StatefulSet)
    assert (row.replicas, row.service, row.pod_management) == (4, "svc", "Parallel")
    assert (row.strategy, row.partition, row.first_ordinal) == ("RollingUpdate", 2, 7)
    assert row.claim_templates == ("data",)
    assert (row.current_replicas, row.ready_replicas, row.updated_replicas) == (4, 3, 2)
    assert (row.available_replicas, row.current_revision, row.update_revision) == (1, "r1", "r2")


def test_a_replica_set_and_a_daemon_set(client: Client) -> None:
    spec = {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}
    status = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "observedGeneration": 1}
    row = stored(client, kinds.REPLICA_SET, {"metadata": {"name": "r"}, "spec": spec}, status)
    assert isinstance(row, ReplicaSet)
    assert (row.replicas, row.current_replicas, row.ready_replicas, row.available_replicas) == (0, 3, 2, 1)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}}
    spec = {"selector": SELECTOR, "template": TEMPLATE, "updateStrategy": strategy}
    status = {
        "desiredNumberScheduled": 6,
        "currentNumberScheduled": 5,
        "numberMisscheduled": 1,
        "numberReady": 4,
        "updatedNumberScheduled": 3,
        "numberAvailable": 2,
        "observedGeneration": 1,
    }
    other = stored(client, kinds.DAEMON_SET, {"metadata": {"name": "ds"}, "spec": spec}, status)
    assert isinstance(other, DaemonSet)
    assert (other.desired, other.scheduled, other.misscheduled) == (6, 5, 1)
    assert (other.ready, other.updated, other.available) == (4, 3, 2)
    assert (other.strategy, other.max_unavailable, other.max_surge) == ("RollingUpdate", "10%", 0)


def test_a_job_and_a_controller_revision(client: Client) -> None:
    template = {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never"}}
    spec = {"parallelism": 2, "completions": 4, "suspend": True, "template": template}
    row = stored(client, kinds.JOB, {"metadata": {"name": "j"}, "spec": spec}, {"active": 0, "failed": 1})
    assert isinstance(row, Job)
    assert (row.parallelism, row.completions, row.suspended) == (2, 4, True)
    assert (row.active, row.succeeded, row.failed) == (0, 0, 1)
    revision = stored(
        client, kinds.CONTROLLER_REVISION, {"metadata": {"name": "c"}, "revision": 12, "data": {"a": 1}}
    )
    assert isinstance(revision, ControllerRevision)
    assert revision.revision == 12


@pytest.mark.parametrize(
    ("limits", "minimum", "maximum"),
    [
        ({"minAvailable": 2}, 2, None),
        ({"maxUnavailable": "25%"}, None, "25%"),
        ({"maxUnavailable": 0}, None, 0),
        ({}, None, None),
    ],
)
def test_a_budget(client: Client, limits: dict[str, Any], minimum: object, maximum: object) -> None:
    spec = {"selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow", **limits}
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 4,
        "disruptedPods": {"p-2": MOMENT, "p-1": MOMENT},
    }
    row = stored(client, kinds.POD_DISRUPTION_BUDGET, {"metadata": {"name": "b"}, "spec": spec}, status)
    assert isinstance(row, PodDisruptionBudget)
    assert (row.min_available, row.max_unavailable) == (minimum, maximum)
    assert row.unhealthy_policy == "AlwaysAllow"
    assert row.selector is not None
    assert row.selector.matches({"app": "x"})
    assert (row.observed_generation, row.disruptions_allowed, row.current_healthy) == (1, 1, 3)
    assert (row.desired_healthy, row.expected_pods, row.disrupted_pods) == (2, 4, ("p-1", "p-2"))


def test_a_budget_for_everything_and_one_for_nothing(client: Client) -> None:
    """In policy/v1 an empty selector picks every pod, and no selector picks none."""
    all_of_it = stored(
        client, kinds.POD_DISRUPTION_BUDGET, {"metadata": {"name": "all"}, "spec": {"selector": {}}}
    )
    assert isinstance(all_of_it, PodDisruptionBudget)
    assert all_of_it.selector is not None
    assert all_of_it.selector.matches({})
    none = stored(client, kinds.POD_DISRUPTION_BUDGET, {"metadata": {"name": "none"}, "spec": {}})
    assert isinstance(none, PodDisruptionBudget)
    assert none.selector is None


def test_an_autoscaler(client: Client) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}
    status = {"currentReplicas": 4, "desiredReplicas": 5}
    row = stored(client, kinds.HORIZONTAL_POD_AUTOSCALER, {"metadata": {"name": "h"}, "spec": spec}, status)
    assert isinstance(row, HorizontalPodAutoscaler)
    assert (row.target_kind, row.target_name) == ("Deployment", "web")
    assert (row.min_replicas, row.max_replicas, row.current_replicas, row.desired_replicas) == (2, 9, 4, 5)


def test_volumes(client: Client) -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": "csi.example.com", "volumeHandle": "h-1"},
        "claimRef": {"namespace": SPACE, "name": "claim", "uid": "u"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    volume = stored(
        client, kinds.PERSISTENT_VOLUME, {"metadata": {"name": "pv"}, "spec": spec}, {"phase": "Bound"}
    )
    assert isinstance(volume, PersistentVolume)
    assert (volume.phase, volume.storage_class, volume.capacity) == ("Bound", "fast", 5 << 30)
    assert (volume.access_modes, volume.reclaim_policy) == (("ReadWriteOnce",), "Delete")
    assert (volume.claim_namespace, volume.claim_name, volume.claim_uid) == (SPACE, "claim", "u")
    assert volume.node_terms == (NodeTerm((Requirement("zone", "In", ("a",)),)),)
    assert (volume.local, volume.driver, volume.handle) == (False, "csi.example.com", "h-1")
    claim_spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "volumeName": "pv",
        "resources": {"requests": {"storage": "3Gi"}},
    }
    claim = stored(
        client,
        kinds.PERSISTENT_VOLUME_CLAIM,
        {
            "metadata": {"name": "claim", "annotations": {"volume.kubernetes.io/selected-node": "n1"}},
            "spec": claim_spec,
        },
        {"phase": "Bound"},
    )
    assert isinstance(claim, PersistentVolumeClaim)
    assert (claim.phase, claim.volume, claim.storage_class) == ("Bound", "pv", "fast")
    assert (claim.access_modes, claim.requested) == (("ReadWriteOnce",), 3 << 30)
    assert claim.annotations == {"volume.kubernetes.io/selected-node": "n1"}


def test_storage_classes_and_attachments(client: Client) -> None:
    topologies = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    body = {
        "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Retain",
        "allowedTopologies": topologies,
    }
    row = stored(client, kinds.STORAGE_CLASS, body)
    assert isinstance(row, StorageClass)
    assert (row.provisioner, row.binding_mode) == ("csi.example.com", "WaitForFirstConsumer")
    assert (row.reclaim_policy, row.annotations["storageclass.kubernetes.io/is-default-class"]) == (
        "Retain",
        "true",
    )
    assert row.allowed_topologies == ((Requirement("zone", "In", ("a", "b")),),)
    spec = {"attacher": "csi.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}}
    attachment = stored(
        client, kinds.VOLUME_ATTACHMENT, {"metadata": {"name": "va"}, "spec": spec}, {"attached": True}
    )
    assert isinstance(attachment, VolumeAttachment)
    assert (attachment.attacher, attachment.node, attachment.volume, attachment.attached) == (
        "csi.example.com",
        "n1",
        "pv",
        True,
    )


def test_the_rest(client: Client) -> None:
    spec = {
        "selector": {"app": "x"},
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "ports": [{"port": 80}],
    }
    service = stored(client, kinds.SERVICE, {"metadata": {"name": "svc"}, "spec": spec})
    assert isinstance(service, Service)
    assert (service.type, service.selector, service.cluster_ip) == ("ClusterIP", {"app": "x"}, "None")
    assert service.publishes_unready
    space = _synced(client, kinds.NAMESPACE, client.get(kinds.NAMESPACE, SPACE)["metadata"]["uid"])
    assert isinstance(space, Namespace)
    assert space.phase == "Active"
    lease_spec = {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 3,
        "renewTime": "2026-11-15T01:02:03.000000Z",
    }
    lease = stored(client, kinds.LEASE, {"metadata": {"name": "l"}, "spec": lease_spec})
    assert isinstance(lease, Lease)
    assert (lease.holder, lease.duration, lease.transitions, lease.renewed) == ("me", 15, 3, SECONDS)


def test_a_definition(client: Client) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    body = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing", "singular": "thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": schema},
                {"name": "v0", "served": False, "storage": False, "schema": schema},
            ],
        },
    }
    row = stored(client, kinds.CUSTOM_RESOURCE_DEFINITION, body)
    assert isinstance(row, CustomResourceDefinition)
    assert (row.group, row.kind, row.plural, row.scope) == ("example.com", "Thing", "things", "Cluster")
    assert row.versions == (CrdVersion("v1", True, True), CrdVersion("v0", False, False))
    assert row.stored_versions == ("v1",)
