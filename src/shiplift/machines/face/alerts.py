"""What a person should be woken for while pools are kept."""

from __future__ import annotations

from shiplift.face.alerts import Alert, Severity

ALERTS = (
    Alert(
        "ShipliftMachinePoolStalled",
        "max by (pool) (shiplift_machines_pool_stalled) == 1",
        "15m",
        Severity.WARNING,
        "A pool of machines waits for somebody.",
        "`shiplift explain machinepool/NAME` says what is wrong, and what would help.",
    ),
    Alert(
        "ShipliftMachinesMissing",
        "max by (pool) (shiplift_machines_wanted) - max by (pool) (shiplift_machines_ready) > 0",
        "30m",
        Severity.WARNING,
        "A pool has fewer machines with a node that is Ready than it asks for.",
        "`shiplift status` names the pool, `shiplift explain machinepool/NAME` the machines.",
    ),
    Alert(
        "ShipliftMachinesUnreadable",
        "max(shiplift_machines_unreadable) > 0",
        "15m",
        Severity.WARNING,
        "A MachinePool or Machine cannot be read, and nothing is done for it.",
        "`shiplift crds | kubectl apply -f -` brings the definitions of this version.",
    ),
)
