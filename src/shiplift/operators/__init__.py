"""Operators from a catalog."""
