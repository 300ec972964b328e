"""What people read of it."""
