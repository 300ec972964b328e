"""What follows from a view: pure, and the same for the same view and time."""

from shiplift.quorum.decide.course import decide

__all__ = ["decide"]
