"""The layer `nodes`."""
