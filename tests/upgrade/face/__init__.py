"""What people see of the conductor."""
