"""What people see of the journal: `shiplift report`. It is a record: nothing of it is undone."""

from shiplift.face.parts import Face

FACE = Face()
