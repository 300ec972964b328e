"""The layer `operators`."""
