"""What people see of the layer `nodes`."""
