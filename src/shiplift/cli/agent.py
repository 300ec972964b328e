"""`shiplift agent`: what machines need to be changed by shiplift."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from shiplift.cli.output import CommandError

app = App(name="agent", help="Make the package of the agent that runs on machines.")
_PLAIN = Parameter(show_default=False, negative="")


@app.command
def package(*, folder: Annotated[Path, _PLAIN] = Path()) -> None:
    """Make the agent's package for machines: one file that Python runs, and a Debian package around it.

    Parameters
    ----------
    folder
        Where they go; here, if not given.
    """
    from shiplift.agent_package import build

    try:
        made = build(folder)
    except OSError as error:
        raise CommandError(f"{folder}: {error.strerror}", "name a folder that you may write to") from None
    sys.stdout.write(f"{made.zipapp}\n{made.deb}\n")
