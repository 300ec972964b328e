"""What people see of notices: an alert. What is told is told elsewhere."""

from shiplift.face.parts import Face

FACE = Face(alerts="shiplift.notify.face.alerts:ALERTS")
