"""What people see of a layer: where it adds its own part to `status`, `explain`, `undo`, alerts and demo.

No layer is known here.
"""
