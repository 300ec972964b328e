"""What a person should be woken for while operators are kept up to date."""

from __future__ import annotations

from shiplift.face.alerts import Alert, Severity

ALERTS = (
    Alert(
        "ShipliftOperatorStalled",
        "max(shiplift_operators_apptypes_stalled) > 0",
        "15m",
        Severity.WARNING,
        "An operator is installed or upgraded only when somebody helps.",
        "`shiplift status` names the AppType, `shiplift explain apptype/NAME` says what would help.",
    ),
    Alert(
        "ShipliftOperatorNotRunning",
        "max(shiplift_operators_apptypes) - max(shiplift_operators_apptypes_ready) > 0",
        "1h",
        Severity.WARNING,
        "An operator that should run does not.",
        "`shiplift status` names the AppType and what it waits for.",
    ),
    Alert(
        "ShipliftCatalogUnreadable",
        "max(shiplift_operators_catalogs_unread) > 0",
        "1h",
        Severity.WARNING,
        "A catalog of operators cannot be read; what was read before stays in use.",
        "`kubectl get operatorcatalogs -o wide` says why.",
    ),
)
