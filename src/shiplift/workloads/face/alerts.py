"""What a person should be woken for while workloads move.

The most important alert is about the operator's absence: a held workload blocks every drain, so holds without
an operator must not go unnoticed. It counts our PodDisruptionBudgets through kube-state-metrics, because the
operator's own metrics are gone with it. A user's own budget that we hold in place cannot be told apart there:
which they were, the operator's last metrics say, and whether one of them still lets nobody go,
kube-state-metrics does.
"""

from __future__ import annotations

from shiplift.api.marks import HOLD_PREFIX
from shiplift.face.alerts import LEADS, Alert, Severity

_OURS = f'count(kube_poddisruptionbudget_created{{poddisruptionbudget=~"{HOLD_PREFIX}.*"}}) > 0'
_LAST_HELD = (
    "label_replace(label_replace(last_over_time(shiplift_held_budget[7d]),"
    ' "namespace", "$1", "budget_namespace", "(.*)"), "poddisruptionbudget", "$1", "budget", "(.*)")'
)
_LET_NOBODY_GO = (
    "(kube_poddisruptionbudget_status_desired_healthy >= kube_poddisruptionbudget_status_expected_pods > 0)"
)
_USERS = f"count({_LAST_HELD} and on(namespace, poddisruptionbudget) {_LET_NOBODY_GO}) > 0"
_HOLDS = f"({_OURS}) or ({_USERS})"

ALERTS = (
    Alert(
        "ShipliftHoldsWithoutOperator",
        f"({_HOLDS}) unless on() ({LEADS})",
        "10m",
        Severity.CRITICAL,
        "Workloads are held and no shiplift operator leads: nobody can drain their nodes.",
        "Start the operator again, or run `shiplift undo`, which needs no operator.",
    ),
    Alert(
        "ShipliftMigrationBlocked",
        'shiplift_migration_workloads{state="Blocked"} > 0',
        "15m",
        Severity.WARNING,
        "Workloads cannot be moved without somebody's help.",
        "`shiplift status` names each of them and what would unblock it.",
    ),
    Alert(
        "ShipliftWorkloadStuck",
        "shiplift_migration_overdue_workloads > 0 and on() shiplift_migration_paused == 0",
        "5m",
        Severity.WARNING,
        "Workloads on their way have made no progress for longer than progressDeadline.",
        "`shiplift status` names each of them, and the pod that is not Ready where one is.",
    ),
    Alert(
        "ShipliftMigrationStuck",
        'changes(shiplift_migration_pods{place="target"}[30m]) == 0'
        " and on() shiplift_migration_active == 1 and on() shiplift_migration_paused == 0"
        ' and on() shiplift_migration_pods{place="elsewhere"} > 0'
        " and on() time() - shiplift_migration_start_timestamp_seconds > 1800",
        "5m",
        Severity.WARNING,
        "A migration has not moved a pod for half an hour.",
        "`shiplift status` says what it waits for.",
    ),
)
