"""Tells: status, Events, metrics."""
