"""What follows for the pools. Pure."""
