"""Prometheus alerts: what a person should be woken for, and what to do then.

Here are those about the operator itself; each layer brings its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shiplift.face.alerts import LEADS, Alert, Severity
from shiplift.face.parts import Face

Manifest = dict[str, Any]

_OPERATOR = (
    Alert(
        "ShipliftOperatorGone",
        f"absent({LEADS})",
        "5m",
        Severity.WARNING,
        "No shiplift operator leads.",
        "Look at the operator's pods and logs; a migration goes on where it was as soon as one leads.",
    ),
    Alert(
        "ShipliftNotActing",
        "max(shiplift_leading_not_acting) == 1",
        "2m",
        Severity.CRITICAL,
        "The shiplift operator leads and does nothing: its fence is not in force.",
        "`shiplift status` says why; what installed shiplift puts the fence back when it is applied again.",
    ),
    Alert(
        "ShipliftFenceUndone",
        "increase(shiplift_fence_refusals_total[30m]) > 2",
        "0m",
        Severity.WARNING,
        "Somebody undoes the fence of the shiplift operator again and again.",
        "Keep GitOps off the annotations of ServiceAccount shiplift-fence.",
    ),
    Alert(
        "ShipliftLayerFailing",
        "increase(shiplift_layer_failures_total[10m]) > 3",
        "0m",
        Severity.WARNING,
        "A layer of shiplift fails again and again.",
        "Look at the operator's log for `layer failed`.",
    ),
    Alert(
        "ShipliftLayerTriesAgain",
        "increase(shiplift_layer_retries_total[10m]) > 10",
        "0m",
        Severity.WARNING,
        "A layer of shiplift cannot write its status, or do what else it has to.",
        "Look at the operator's log for `layer tries again`: it says what is refused, and by whom.",
    ),
)


def rules(faces: Iterable[Face]) -> list[Manifest]:
    """The alerts of these layers and of the operator, the most urgent first."""
    alerts = [*(one for face in faces for one in face.alert_part()), *_OPERATOR]
    return [one.rule() for one in sorted(alerts, key=lambda one: list(Severity).index(one.severity))]


def manifest(namespace: str, faces: Iterable[Face]) -> Manifest:
    """As the Prometheus operator wants them."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "shiplift", "namespace": namespace},
        "spec": {"groups": [{"name": "shiplift", "rules": rules(faces)}]},
    }
