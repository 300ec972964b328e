"""A command that fails in every way a command can."""

from __future__ import annotations

from cyclopts import App

from shiplift.cli.output import TimedOutError
from shiplift.kube.errors import Unreachable
from shiplift.local.errors import LocalError

app = App(name="broken", help="Fail.")


@app.command
def hinted() -> None:
    raise LocalError("the disk\nis full", "buy\na bigger one")


@app.command
def unreachable() -> None:
    raise Unreachable("no answer from the server", hint="is it there?")


@app.command
def late() -> None:
    raise TimedOutError("waited 1 s for the sun", "wait longer")


@app.command
def interrupted() -> None:
    raise KeyboardInterrupt


@app.command
def unexpected() -> None:
    raise KeyError("nobody thought of it")


@app.command
def chosen() -> None:
    raise SystemExit(7)
