"""What a person should be woken for while binaries are swapped."""

from __future__ import annotations

from shiplift.face.alerts import LEADS, Alert, Severity

_UNDER_WAY = 'shiplift_quorum_step{step=~"UpdateStatefulSets|Stage|Switch|RecreatePods"}'

ALERTS = (
    Alert(
        "ShipliftQuorumWithoutOperator",
        f"(max(last_over_time({_UNDER_WAY}[1d])) > 0) unless on() ({LEADS})",
        "10m",
        Severity.CRITICAL,
        "A swap of a quorum service is under way and no shiplift operator leads.",
        "Start the operator again: it goes on where it was.",
    ),
    Alert(
        "ShipliftQuorumMixedVersions",
        "max by (namespace, service) (shiplift_quorum_mixed) == 1",
        "5m",
        Severity.CRITICAL,
        "Servers of a quorum service have run different versions for five minutes.",
        "`shiplift explain quorumservice/NAME` says which, and what the others wait for.",
    ),
    Alert(
        "ShipliftQuorumStalled",
        "max by (namespace, service) (shiplift_quorum_stalled) == 1",
        "5m",
        Severity.WARNING,
        "A quorum service cannot be swapped to what is wanted.",
        "`shiplift explain quorumservice/NAME` says why, and what would help.",
    ),
    Alert(
        "ShipliftQuorumSlow",
        f"max by (namespace, service, step) ({_UNDER_WAY}) == 1",
        "1h",
        Severity.WARNING,
        "A swap of a quorum service has been in one step for an hour.",
        "`shiplift explain quorumservice/NAME` says what is waited for.",
    ),
)
