"""What is told: statuses, Events, metrics."""
