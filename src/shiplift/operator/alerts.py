"""Prometheus alerts: what a person should be woken for, and what to do then.

The most important one is about our own absence: a held workload blocks every drain, so holds without an
operator must not go unnoticed. It counts our PodDisruptionBudgets through kube-state-metrics, because our own
metrics are gone with us. A user's own budget that we hold in place cannot be told apart there: for those
it is the alert that no operator leads.
"""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

HOLDS = 'count(kube_poddisruptionbudget_created{poddisruptionbudget=~"shiplift-hold-.*"}) > 0'
LEADS = "max(shiplift_leading) == 1"


def _alert(name: str, expression: str, wait: str, severity: str, summary: str, action: str) -> Manifest:
    return {
        "alert": name,
        "expr": expression,
        "for": wait,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "action": action},
    }


def rules() -> list[Manifest]:
    """The alerts, the most urgent first."""
    return [
        _alert(
            "ShipliftHoldsWithoutOperator",
            f"({HOLDS}) unless on() ({LEADS})",
            "10m",
            "critical",
            "Workloads are held and no shiplift operator leads: nobody can drain their nodes.",
            "Start the operator again, or run `shiplift release --all`, which needs no operator.",
        ),
        _alert(
            "ShipliftOperatorGone",
            f"absent({LEADS})",
            "5m",
            "warning",
            "No shiplift operator leads.",
            "Look at the operator's pods and logs; a migration goes on where it was as soon as one leads.",
        ),
        _alert(
            "ShipliftNotActing",
            "max(shiplift_leading_not_acting) == 1",
            "2m",
            "critical",
            "The shiplift operator leads and does nothing: its fence is not in force.",
            "`shiplift status` says why; `shiplift manifests | kubectl apply -f -` puts the fence back.",
        ),
        _alert(
            "ShipliftFenceUndone",
            "increase(shiplift_fence_refusals_total[30m]) > 2",
            "0m",
            "warning",
            "Somebody undoes the fence of the shiplift operator again and again.",
            "Keep GitOps off the annotations of ServiceAccount shiplift-fence.",
        ),
        _alert(
            "ShipliftMigrationBlocked",
            'shiplift_migration_workloads{state="Blocked"} > 0',
            "15m",
            "warning",
            "Workloads cannot be moved without somebody's help.",
            "`shiplift status` names each of them and what would unblock it.",
        ),
        _alert(
            "ShipliftMigrationStuck",
            'changes(shiplift_migration_pods{place="target"}[30m]) == 0'
            " and on() shiplift_migration_active == 1 and on() shiplift_migration_paused == 0"
            ' and on() shiplift_migration_pods{place="elsewhere"} > 0'
            " and on() time() - shiplift_migration_start_timestamp_seconds > 1800",
            "5m",
            "warning",
            "A migration has not moved a pod for half an hour.",
            "`shiplift status` says what it waits for.",
        ),
        _alert(
            "ShipliftLayerFailing",
            "increase(shiplift_layer_failures_total[10m]) > 3",
            "0m",
            "warning",
            "A layer of shiplift fails again and again.",
            "Look at the operator's log for `layer failed`.",
        ),
        _alert(
            "ShipliftLayerTriesAgain",
            "increase(shiplift_layer_retries_total[10m]) > 10",
            "0m",
            "warning",
            "A layer of shiplift cannot write its status, or do what else it has to.",
            "Look at the operator's log for `layer tries again`: it says what is refused, and by whom.",
        ),
    ]


def manifest(namespace: str) -> Manifest:
    """As the Prometheus operator wants them."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "shiplift", "namespace": namespace},
        "spec": {"groups": [{"name": "shiplift", "rules": rules()}]},
    }
