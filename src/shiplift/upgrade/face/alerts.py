"""What a person should be woken for while a cluster is upgraded."""

from __future__ import annotations

from shiplift.face.alerts import LEADS, Alert, Severity

ALERTS = (
    Alert(
        "ShipliftUpgradeWithoutOperator",
        f'(max(last_over_time(shiplift_upgrade_phase{{phase="Upgrading"}}[1d])) == 1) unless on() ({LEADS})',
        "10m",
        Severity.WARNING,
        "An upgrade is under way and no shiplift operator leads: nothing more is begun.",
        "Start the operator again: it goes on where it was.",
    ),
    Alert(
        "ShipliftUpgradeStalled",
        "max(shiplift_upgrade_stalled) == 1",
        "5m",
        Severity.WARNING,
        "An upgrade goes on only when somebody helps.",
        "`shiplift status` says why.",
    ),
)
