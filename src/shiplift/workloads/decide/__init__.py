"""What judges: from a `View` to a decision, without I/O, clock or chance."""
