"""What is known of the things that own pods."""

from __future__ import annotations

from shiplift.facts.meta import Condition, Labels, Row
from shiplift.facts.pods import PodSpec
from shiplift.facts.selectors import Selector

IntOrPercent = int | str


class Workload(Row, frozen=True, gc=False, kw_only=True):
    """What Deployments, StatefulSets, ReplicaSets and DaemonSets have in common."""

    selector: Selector | None
    template: PodSpec
    template_labels: Labels
    observed_generation: int
    min_ready_seconds: int


class Deployment(Workload, frozen=True, gc=False, kw_only=True):
    replicas: int
    paused: bool
    strategy: str
    max_unavailable: IntOrPercent | None
    max_surge: IntOrPercent | None
    progress_deadline: int
    current_replicas: int
    updated_replicas: int
    ready_replicas: int
    available_replicas: int
    terminating_replicas: int
    conditions: tuple[Condition, ...]


class StatefulSet(Workload, frozen=True, gc=False, kw_only=True):
    replicas: int
    service: str
    pod_management: str
    strategy: str
    partition: int
    max_unavailable: IntOrPercent | None
    first_ordinal: int
    claim_templates: tuple[str, ...]
    current_replicas: int
    """All pods that exist, of any revision (`status.replicas`)."""
    updated_replicas: int
    ready_replicas: int
    available_replicas: int
    current_revision: str
    update_revision: str


class ReplicaSet(Workload, frozen=True, gc=False, kw_only=True):
    replicas: int
    current_replicas: int
    ready_replicas: int
    available_replicas: int


class DaemonSet(Workload, frozen=True, gc=False, kw_only=True):
    strategy: str
    max_unavailable: IntOrPercent | None
    max_surge: IntOrPercent | None
    desired: int
    scheduled: int
    misscheduled: int
    updated: int
    ready: int
    available: int


class Job(Row, frozen=True, gc=False, kw_only=True):
    parallelism: int
    completions: int | None
    """None: the pods of a work queue decide themselves when it is done."""
    suspended: bool
    active: int
    succeeded: int
    failed: int
    conditions: tuple[Condition, ...]


class ControllerRevision(Row, frozen=True, gc=False, kw_only=True):
    revision: int


class PodDisruptionBudget(Row, frozen=True, gc=False, kw_only=True):
    selector: Selector | None
    min_available: IntOrPercent | None
    max_unavailable: IntOrPercent | None
    unhealthy_policy: str
    observed_generation: int
    disruptions_allowed: int
    current_healthy: int
    desired_healthy: int
    expected_pods: int
    disrupted_pods: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def selects(self, labels: Labels) -> bool:
        """Whether it covers a pod of its namespace that has these labels."""
        return self.selector is not None and self.selector.matches(labels)


class HorizontalPodAutoscaler(Row, frozen=True, gc=False, kw_only=True):
    target_kind: str
    target_name: str
    min_replicas: int
    max_replicas: int
    current_replicas: int
    desired_replicas: int
