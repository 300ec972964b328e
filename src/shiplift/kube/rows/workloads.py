"""From messages of workloads, budgets and autoscalers to their rows."""

from __future__ import annotations

from sys import intern
from typing import Any

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
from shiplift.kube.rows import meta
from shiplift.kube.rows.specs import template_spec
from shiplift.kube.wire import MESSAGES


def _workload(message: Any) -> dict[str, Any]:
    spec = message.spec
    return meta.meta(message.metadata) | {
        "selector": meta.selector[spec.selector] if spec.HasField("selector") else None,
        "template": template_spec(spec.template.spec),
        "template_labels": meta.labels.of(*spec.template.metadata.labels),
        "observed_generation": message.status.observedGeneration,
        "min_ready_seconds": spec.minReadySeconds,
    }


def _replicas(spec: Any) -> int:
    return spec.replicas if spec.HasField("replicas") else 1


def deployment(raw: bytes) -> Deployment:
    message = MESSAGES["Deployment"].FromString(raw)
    spec, status = message.spec, message.status
    return Deployment(
        **_workload(message),
        replicas=_replicas(spec),
        paused=spec.paused,
        strategy=intern(spec.strategy.type),
        max_unavailable=meta.int_or_percent(spec.strategy.rollingUpdate, "maxUnavailable"),
        max_surge=meta.int_or_percent(spec.strategy.rollingUpdate, "maxSurge"),
        progress_deadline=spec.progressDeadlineSeconds,
        current_replicas=status.replicas,
        updated_replicas=status.updatedReplicas,
        ready_replicas=status.readyReplicas,
        available_replicas=status.availableReplicas,
        terminating_replicas=status.terminatingReplicas,
        conditions=meta.conditions(status.conditions),
    )


def stateful_set(raw: bytes) -> StatefulSet:
    message = MESSAGES["StatefulSet"].FromString(raw)
    spec, status = message.spec, message.status
    return StatefulSet(
        **_workload(message),
        replicas=_replicas(spec),
        service=spec.serviceName,
        pod_management=intern(spec.podManagementPolicy),
        strategy=intern(spec.updateStrategy.type),
        partition=spec.updateStrategy.rollingUpdate.partition,
        max_unavailable=meta.int_or_percent(spec.updateStrategy.rollingUpdate, "maxUnavailable"),
        first_ordinal=spec.ordinals.start,
        claim_templates=tuple(one.metadata.name for one in spec.volumeClaimTemplates),
        current_replicas=status.replicas,
        updated_replicas=status.updatedReplicas,
        ready_replicas=status.readyReplicas,
        available_replicas=status.availableReplicas,
        current_revision=status.currentRevision,
        update_revision=status.updateRevision,
    )


def replica_set(raw: bytes) -> ReplicaSet:
    message = MESSAGES["ReplicaSet"].FromString(raw)
    return ReplicaSet(
        **_workload(message),
        replicas=_replicas(message.spec),
        current_replicas=message.status.replicas,
        ready_replicas=message.status.readyReplicas,
        available_replicas=message.status.availableReplicas,
    )


def daemon_set(raw: bytes) -> DaemonSet:
    message = MESSAGES["DaemonSet"].FromString(raw)
    strategy, status = message.spec.updateStrategy, message.status
    return DaemonSet(
        **_workload(message),
        strategy=intern(strategy.type),
        max_unavailable=meta.int_or_percent(strategy.rollingUpdate, "maxUnavailable"),
        max_surge=meta.int_or_percent(strategy.rollingUpdate, "maxSurge"),
        desired=status.desiredNumberScheduled,
        scheduled=status.currentNumberScheduled,
        misscheduled=status.numberMisscheduled,
        updated=status.updatedNumberScheduled,
        ready=status.numberReady,
        available=status.numberAvailable,
    )


def job(raw: bytes) -> Job:
    message = MESSAGES["Job"].FromString(raw)
    spec, status = message.spec, message.status
    return Job(
        **meta.meta(message.metadata),
        parallelism=spec.parallelism if spec.HasField("parallelism") else 1,
        completions=spec.completions if spec.HasField("completions") else None,
        suspended=spec.suspend,
        active=status.active,
        succeeded=status.succeeded,
        failed=status.failed,
        conditions=meta.conditions(status.conditions),
    )


def controller_revision(raw: bytes) -> ControllerRevision:
    message = MESSAGES["ControllerRevision"].FromString(raw)
    return ControllerRevision(**meta.meta(message.metadata), revision=message.revision)


def pod_disruption_budget(raw: bytes) -> PodDisruptionBudget:
    message = MESSAGES["PodDisruptionBudget"].FromString(raw)
    spec, status = message.spec, message.status
    return PodDisruptionBudget(
        **meta.meta(message.metadata),
        selector=meta.selector[spec.selector] if spec.HasField("selector") else None,
        min_available=meta.int_or_percent(spec, "minAvailable"),
        max_unavailable=meta.int_or_percent(spec, "maxUnavailable"),
        unhealthy_policy=intern(spec.unhealthyPodEvictionPolicy),
        observed_generation=status.observedGeneration,
        disruptions_allowed=status.disruptionsAllowed,
        current_healthy=status.currentHealthy,
        desired_healthy=status.desiredHealthy,
        expected_pods=status.expectedPods,
        disrupted_pods=tuple(sorted(one.key for one in status.disruptedPods)),
        conditions=meta.conditions(status.conditions),
    )


def horizontal_pod_autoscaler(raw: bytes) -> HorizontalPodAutoscaler:
    message = MESSAGES["HorizontalPodAutoscaler"].FromString(raw)
    spec, status = message.spec, message.status
    return HorizontalPodAutoscaler(
        **meta.meta(message.metadata),
        target_kind=intern(spec.scaleTargetRef.kind),
        target_name=spec.scaleTargetRef.name,
        min_replicas=spec.minReplicas if spec.HasField("minReplicas") else 1,
        max_replicas=spec.maxReplicas,
        current_replicas=status.currentReplicas,
        desired_replicas=status.desiredReplicas,
    )
