"""Processes that end with the one that started them."""

from __future__ import annotations

ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Before a command: its process is killed when the one that started it ends, however that ends."""
