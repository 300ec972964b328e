"""What tells: the status, Events and metrics of a decision."""
