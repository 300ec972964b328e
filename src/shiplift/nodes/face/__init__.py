"""What people see of this layer: its part of `status`, `explain`, `undo`, the alerts and the demo.

The read models (`rollouts`, `explanation`, `standing`) are pure and know no terminal; the layouts draw them
on one.
"""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.nodes.face.status:STATUS",
    explain="shiplift.nodes.face.explain:EXPLAIN",
    undo="shiplift.nodes.face.undo:undo_all",
    alerts="shiplift.nodes.face.alerts:ALERTS",
    demo="shiplift.nodes.face.demo:DEMO",
)
