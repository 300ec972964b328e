"""What is told: the status of a service."""
