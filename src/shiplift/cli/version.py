"""`shiplift version`: which shiplift this is."""

from __future__ import annotations

import sys

from cyclopts import App

from shiplift import __version__

app = App(name="version", help="Print the version.")


@app.default
def version() -> None:
    """Print the version."""
    sys.stdout.write(f"shiplift {__version__}\n")
