"""What a person should be woken for while policies are synced."""

from __future__ import annotations

from shiplift.face.alerts import Alert, Severity

_REMOTE = 'max(shiplift_policy_provider{provider!="Local"}) == 1'

_PERIOD, _SINCE = "shiplift_policy_watch_interval_seconds", "shiplift_policy_unsynced_since_timestamp_seconds"
_TOO_LONG = f"time() - max({_SINCE}) > clamp_min(2 * max({_PERIOD}), 4 * 3600)"

ALERTS = (
    Alert(
        "ShipliftPolicySyncFailing",
        f"({_TOO_LONG}) and on() ({_REMOTE})",
        "2m",
        Severity.WARNING,
        "The provider of upgrade policies has given no answer for two periods, and for at least four hours.",
        "ConfigMap shiplift-policy in the operator's namespace says why.",
    ),
    Alert(
        "ShipliftPolicyConfigBad",
        "max(shiplift_policy_config_bad) == 1",
        "15m",
        Severity.WARNING,
        "ConfigMap shiplift-config cannot be used; the last good settings stay in force.",
        "ConfigMap shiplift-policy in the operator's namespace names the field.",
    ),
    Alert(
        "ShipliftPolicyReportsLost",
        "increase(shiplift_policy_outbox_dropped_total[1h]) > 0",
        "0m",
        Severity.WARNING,
        "Reports to the provider of policies went undelivered because there was no room for more.",
        "See that the provider can be reached; the upgrade itself does not wait for it.",
    ),
)
