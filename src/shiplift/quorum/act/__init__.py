"""What acts: one step, one write."""
