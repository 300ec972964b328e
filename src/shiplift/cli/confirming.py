"""Before a command undoes something it asks; where nobody is there to answer, it does nothing."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from shiplift.cli.output import CommandError

Yes = Annotated[bool, Parameter(name=["--yes", "-y"], negative="", show_default=False, help="Do not ask.")]


def confirm(question: str, command: str, refused: CommandError) -> None:
    """Go on only if somebody says yes; `command` is how it would be typed without a question."""
    if not sys.stdin.isatty():
        raise CommandError("nobody is here to confirm it", f"{command} asks nothing")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise refused
