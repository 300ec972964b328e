"""What people see of this layer: its alerts. What it does shows on the UpgradeConfig."""

from shiplift.face.parts import Face

FACE = Face(alerts="shiplift.policy.face.alerts:ALERTS")
