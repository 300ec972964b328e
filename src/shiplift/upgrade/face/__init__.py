"""What people see of the conductor: its part of `status`, `undo`, the alerts and the demo.

The read model (`upgrading`) is pure and knows no terminal; the layout draws it on one.
"""

from shiplift.face.parts import Face

FACE = Face(
    status="shiplift.upgrade.face.status:STATUS",
    undo="shiplift.upgrade.face.undo:undo_all",
    alerts="shiplift.upgrade.face.alerts:ALERTS",
    demo="shiplift.upgrade.face.demo:DEMO",
)
