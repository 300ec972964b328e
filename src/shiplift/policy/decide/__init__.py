"""What follows from a view: pure."""
