"""The rows of workloads, budgets, volumes and the rest, from a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.facts.cluster import CrdVersion, CustomResourceDefinition, Lease, Namespace, Service
from shiplift.facts.meta import Condition
from shiplift.facts.pods import Container
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
from shiplift.kube.client import Client
from tests.kube.rows.stored import MOMENT, SECONDS, SPACE, stored, synced

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
    space = synced(client, kinds.NAMESPACE, client.get(kinds.NAMESPACE, SPACE)["metadata"]["uid"])
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
