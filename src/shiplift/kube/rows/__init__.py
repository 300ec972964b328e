"""Objects as the API server sends them, to rows."""

from __future__ import annotations

from collections.abc import Callable

from shiplift.facts import cluster as of_cluster
from shiplift.facts import kinds
from shiplift.facts import nodes as of_nodes
from shiplift.facts import pods as of_pods
from shiplift.facts import storage as of_storage
from shiplift.facts import workloads as of_workloads
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.rows import cluster, nodes, pods, storage, workloads

Decoder = Callable[[bytes], Row]

PROTOBUF: dict[Kind, Decoder] = {
    kinds.NODE: nodes.node,
    kinds.POD: pods.pod,
    kinds.DEPLOYMENT: workloads.deployment,
    kinds.STATEFUL_SET: workloads.stateful_set,
    kinds.REPLICA_SET: workloads.replica_set,
    kinds.DAEMON_SET: workloads.daemon_set,
    kinds.JOB: workloads.job,
    kinds.CONTROLLER_REVISION: workloads.controller_revision,
    kinds.POD_DISRUPTION_BUDGET: workloads.pod_disruption_budget,
    kinds.HORIZONTAL_POD_AUTOSCALER: workloads.horizontal_pod_autoscaler,
    kinds.PERSISTENT_VOLUME: storage.persistent_volume,
    kinds.PERSISTENT_VOLUME_CLAIM: storage.persistent_volume_claim,
    kinds.STORAGE_CLASS: storage.storage_class,
    kinds.VOLUME_ATTACHMENT: storage.volume_attachment,
    kinds.SERVICE: cluster.service,
    kinds.NAMESPACE: cluster.namespace,
    kinds.LEASE: cluster.lease,
    kinds.CUSTOM_RESOURCE_DEFINITION: cluster.custom_resource_definition,
}

KIND_OF: dict[type[Row], Kind] = {
    of_nodes.Node: kinds.NODE,
    of_pods.Pod: kinds.POD,
    of_workloads.Deployment: kinds.DEPLOYMENT,
    of_workloads.StatefulSet: kinds.STATEFUL_SET,
    of_workloads.ReplicaSet: kinds.REPLICA_SET,
    of_workloads.DaemonSet: kinds.DAEMON_SET,
    of_workloads.Job: kinds.JOB,
    of_workloads.ControllerRevision: kinds.CONTROLLER_REVISION,
    of_workloads.PodDisruptionBudget: kinds.POD_DISRUPTION_BUDGET,
    of_workloads.HorizontalPodAutoscaler: kinds.HORIZONTAL_POD_AUTOSCALER,
    of_storage.PersistentVolume: kinds.PERSISTENT_VOLUME,
    of_storage.PersistentVolumeClaim: kinds.PERSISTENT_VOLUME_CLAIM,
    of_storage.StorageClass: kinds.STORAGE_CLASS,
    of_storage.VolumeAttachment: kinds.VOLUME_ATTACHMENT,
    of_cluster.Service: kinds.SERVICE,
    of_cluster.Namespace: kinds.NAMESPACE,
    of_cluster.Lease: kinds.LEASE,
    of_cluster.CustomResourceDefinition: kinds.CUSTOM_RESOURCE_DEFINITION,
}
