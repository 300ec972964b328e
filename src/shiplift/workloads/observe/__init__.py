"""What reads the world: from rows and outcomes to one `View`."""
