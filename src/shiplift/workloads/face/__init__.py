"""What people see of this layer: its part of `status`, `explain`, `undo`, the alerts and the demo.

The read models (`migration`, `arrival`, `explanation`, `passage`, `movement`) are pure and know no terminal;
the layouts draw them on one.
"""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.workloads.face.status:STATUS",
    explain="shiplift.workloads.face.explain:EXPLAIN",
    undo="shiplift.workloads.face.undo:undo_all",
    alerts="shiplift.workloads.face.alerts:ALERTS",
    demo="shiplift.workloads.face.demo:DEMO",
)
