"""What people see of this layer: its part of `status`, `explain`, `undo`, and its alerts.

The read model (`services`) is pure and knows no terminal; the layout draws it on one.
"""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.quorum.face.status:STATUS",
    explain="shiplift.quorum.face.explain:EXPLAIN",
    undo="shiplift.quorum.face.undo:undo_all",
    alerts="shiplift.quorum.face.alerts:ALERTS",
)
