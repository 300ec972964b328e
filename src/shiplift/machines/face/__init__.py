"""What people see of the layer: its part of `status`, `explain`, `undo` and the alerts.

The read models (`fleet`, `standing`) are pure and know no terminal; the layout draws them on one.
"""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.machines.face.status:STATUS",
    explain="shiplift.machines.face.explain:EXPLAIN",
    undo="shiplift.machines.face.undo:undo_all",
    alerts="shiplift.machines.face.alerts:ALERTS",
)
