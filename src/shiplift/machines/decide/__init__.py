"""What bootstrap concludes, without I/O, clock or chance."""
