"""What follows from what is seen: one small pure decision a loop."""
