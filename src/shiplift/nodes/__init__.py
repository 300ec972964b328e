"""The layer `nodes`: changes the software of nodes, a few at a time."""
