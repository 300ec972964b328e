"""What people see of this layer: its part of `status`, `explain`, `undo` and the alerts.

The read models (`fleet`, `standing`) are pure and know no terminal; the layout draws them on one.
"""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.operators.face.status:STATUS",
    explain="shiplift.operators.face.explain:EXPLAIN",
    undo="shiplift.operators.face.undo:undo_all",
    alerts="shiplift.operators.face.alerts:ALERTS",
)
