"""What is known of a Pod: its own part, and the part that it shares with its siblings.

Pods of one ReplicaSet have the same specification, so `PodSpec` is decoded once and shared; a
Deployment's template is a `PodSpec` as well. Preferences (preferred affinity) are left out: what is
feasible does not depend on them.
"""

from __future__ import annotations

import msgspec

from shiplift.facts.meta import NO_LABELS, Labels, Row
from shiplift.facts.nodes import Taint
from shiplift.facts.quantities import NOTHING, Resources
from shiplift.facts.selectors import NodeTerm, Selector


class Toleration(msgspec.Struct, frozen=True, gc=False):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """As the scheduler does: an empty effect or key (with Exists) stands for all.

        Operators that compare numbers are off in every release so far, so they tolerate nothing.
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator == "Equal" and bool(self.key) and self.value == taint.value


def tolerated(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Whether any of these tolerates the taint."""
    return any(one.tolerates(taint) for one in tolerations)


class PodTerm(msgspec.Struct, frozen=True, gc=False):
    """One required term of pod affinity or anti-affinity."""

    selector: Selector | None
    topology_key: str
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None


class Spread(msgspec.Struct, frozen=True, gc=False):
    """One topology spread constraint."""

    max_skew: int
    topology_key: str
    hard: bool
    selector: Selector | None
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    match_label_keys: tuple[str, ...] = ()


class Container(msgspec.Struct, frozen=True, gc=False):
    name: str
    image: str


class HostPort(msgspec.Struct, frozen=True, gc=False):
    port: int
    protocol: str
    ip: str


class PodSpec(msgspec.Struct, frozen=True, gc=False):
    """The part of a pod that its siblings share, and that says where it may run."""

    containers: tuple[Container, ...] = ()
    requests: Resources = NOTHING
    tolerations: tuple[Toleration, ...] = ()
    node_selector: Labels = NO_LABELS
    node_terms: tuple[NodeTerm, ...] | None = None
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    priority: int = 0
    priority_class: str = ""
    claims: tuple[str, ...] = ()
    """PersistentVolumeClaims by name."""
    ephemeral_claims: tuple[str, ...] = ()
    """Volumes whose claim is made with the pod: the claim is named `<pod>-<volume>`."""
    empty_dir: bool = False
    host_path: bool = False
    host_network: bool = False
    host_ports: tuple[HostPort, ...] = ()
    grace: int = 30
    gates: tuple[str, ...] = ()
    service_account: str = ""
    scheduler: str = ""
    restart_policy: str = ""
    runtime_class: str = ""


class Pod(Row, frozen=True, gc=False):
    node: str
    spec: PodSpec
    phase: str
    ready: bool
    ready_since: int
    unschedulable: str
    """The scheduler's message, where it found no node."""
    disruption: str
    """Why somebody is about to end it (reason of the condition DisruptionTarget)."""
    reason: str
    ip: str
    nominated_node: str
    started: int
    restarts: int
    waiting: str
    """Why a container does not run (CrashLoopBackOff, ImagePullBackOff)."""
    image_ids: tuple[str, ...]

    @property
    def finished(self) -> bool:
        return self.phase in {"Succeeded", "Failed"}
