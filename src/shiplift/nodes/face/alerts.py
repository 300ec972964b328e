"""What a person should be woken for while nodes are changed."""

from __future__ import annotations

from shiplift.face.alerts import LEADS, Alert, Severity

_IN_FLIGHT = 'shiplift_rollout_nodes{state=~"Cordoned|Draining|Changing|Verifying|Reverting"}'

ALERTS = (
    Alert(
        "ShipliftRolloutWithoutOperator",
        f"(max(last_over_time({_IN_FLIGHT}[1d])) > 0) unless on() ({LEADS})",
        "10m",
        Severity.CRITICAL,
        "Nodes are cordoned for a rollout and no shiplift operator leads: nobody gives them back.",
        "Start the operator again: it goes on where it was.",
    ),
    Alert(
        "ShipliftRolloutStalled",
        "max by (rollout) (shiplift_rollout_stalled) == 1",
        "5m",
        Severity.WARNING,
        "A rollout goes on only when somebody helps.",
        "`shiplift status` says why, and which node it is about.",
    ),
    Alert(
        "ShipliftNodeFailed",
        'max by (rollout) (shiplift_rollout_nodes{state=~"Failed|Quarantined"}) > 0',
        "0m",
        Severity.WARNING,
        "A node could not be changed.",
        "`shiplift status` names it; `shiplift explain node/NAME` says what happened to it.",
    ),
    Alert(
        "ShipliftDrainBlocked",
        "max by (rollout) (shiplift_rollout_blocked_drain_seconds) > 1800",
        "0m",
        Severity.WARNING,
        "The drain of a node has been blocked for half an hour.",
        "`shiplift explain node/NAME` names the pod and the PodDisruptionBudget that keeps it.",
    ),
)
