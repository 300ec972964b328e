"""What a person should be woken for: that somebody was not told."""

from __future__ import annotations

from shiplift.face.alerts import Alert, Severity

_OLDEST = "shiplift_notify_oldest_letter_timestamp_seconds"

ALERTS = (
    Alert(
        "ShipliftNoticesWaiting",
        f"time() - ({_OLDEST} > 0) > 3600",
        "5m",
        Severity.WARNING,
        "Notices about an upgrade have waited for an hour to be delivered.",
        "Events NoticeFailed on the UpgradeConfig say who cannot be told, and why.",
    ),
    Alert(
        "ShipliftNoticesLost",
        "increase(shiplift_notify_outbox_dropped_total[1h]) > 0",
        "0m",
        Severity.WARNING,
        "Notices about an upgrade went undelivered because there was no room for more.",
        "See that who is named in spec.notify of the UpgradeConfig can be reached.",
    ),
)
