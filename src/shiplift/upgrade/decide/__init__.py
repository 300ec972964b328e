"""Decides what follows from a view; pure."""
