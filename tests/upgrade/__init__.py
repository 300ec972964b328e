"""The conductor."""
