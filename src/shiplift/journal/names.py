"""The names by which this layer knows its own."""

from __future__ import annotations

NAME = "journal"
KEY = "cluster"
JOURNAL = "shiplift-journal"
"""The ConfigMap of the operator's namespace that holds the journal."""
BOOK = "journal"
"""The key in it."""
