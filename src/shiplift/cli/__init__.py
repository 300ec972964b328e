"""The command line: `shiplift`, also `kubectl shiplift`."""

from shiplift.cli.main import main

__all__ = ["main"]
