"""What a person should be woken for: that somebody was not told."""

from __future__ import annotations

from shiplift.face.alerts import Alert, Severity

ALERTS = (
    Alert(
        "ShipliftNoticesLost",
        "increase(shiplift_notify_outbox_dropped_total[1h]) > 0",
        "0m",
        Severity.WARNING,
        "Notices about an upgrade went undelivered because there was no room for more.",
        "See that who is named in spec.notify of the UpgradeConfig can be reached.",
    ),
)
