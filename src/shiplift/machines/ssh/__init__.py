"""The way to machines over SSH: one door, and a small program that is sent through it."""
