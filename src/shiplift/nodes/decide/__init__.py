"""What follows from it: pure."""
