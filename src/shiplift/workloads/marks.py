"""Our marks on pods and templates, as a decision reads them back."""

from __future__ import annotations

from shiplift.api.marks import (
    OFF_TARGET_LABEL,
    OFF_TARGET_TAINT,
    TARGET_LABEL,
    UPGRADE_TAINT,
    label_value,
)
from shiplift.facts.nodes import Taint
from shiplift.facts.pods import Pod, PodSpec, Toleration

_OURS = (TARGET_LABEL, OFF_TARGET_LABEL)


def upgrade_taint(target: str) -> Taint:
    """What keeps pods off the target nodes in mode Template."""
    return Taint(UPGRADE_TAINT, label_value(target), "NoSchedule")


def off_target_taint(target: str) -> Taint:
    """What makes old nodes less preferred in mode Template."""
    return Taint(OFF_TARGET_TAINT, label_value(target), "PreferNoSchedule")


def has_toleration(template: PodSpec, target: str) -> bool:
    """Whether a template has a toleration as we write it: told by its key, by how it is written, and by its
    value for which target."""
    return any(_is_ours(one, target) for one in template.tolerations)


def _is_ours(one: Toleration, target: str) -> bool:
    return one.key == UPGRADE_TAINT and one.operator == "Equal" and one.value == label_value(target)


def keeps_off(template: PodSpec, target: str) -> bool:
    """Whether a template itself keeps its pods off target nodes, by labels of ours that we give these nodes:
    it was copied from a pod, say."""
    terms = template.node_terms
    if not terms:
        return False
    labels = {TARGET_LABEL: label_value(target)}
    return not any(all(one.matches(labels) for one in term.labels if one.key in _OURS) for term in terms)


def is_kept_off(pod: Pod, label: str, value: str) -> bool:
    """Whether a pod was made to keep off the nodes with that label."""
    return any(
        one.key == label and one.operator == "NotIn" and value in one.values
        for term in pod.spec.node_terms or ()
        for one in term.labels
    )
