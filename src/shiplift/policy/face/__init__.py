"""What people see of this layer: its part of `status` and `undo`, and its alerts."""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.policy.face.status:STATUS",
    undo="shiplift.policy.face.undo:undo_all",
    alerts="shiplift.policy.face.alerts:ALERTS",
)
