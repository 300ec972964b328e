"""Where this layer's things are in a cluster, and what they are called."""

from __future__ import annotations

NAME = "machines"
KEY = "cluster"
"""The one key of its loop: two pools may claim the same, so all are decided together."""
