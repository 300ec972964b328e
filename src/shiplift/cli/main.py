"""The entry point: finds the command, runs it, and turns whatever happens into an exit code.

Only the command that was asked for is imported, and for the overview not even the library that reads
arguments: `shiplift --help` costs little more than starting Python.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from shiplift import __version__
from shiplift.cli import output
from shiplift.cli.output import CommandError, Exit, GivenUpError

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError

_ABOUT = "Upgrade Kubernetes clusters end to end, without dropping what runs on them."
_HELP = ("--help", "-h")
_UNLIMITED = 1000
"""Columns where no terminal limits them: a line stays a line, instead of being broken in two places."""
_OLD_NAMES = ("release",)
"""Commands that still work and are shown to nobody who looks for one."""
_WAITING = ("wait",)
"""Commands that tell by their exit code how what they waited for has ended."""


class Command(NamedTuple):
    """A sub command: where the app is that reads its arguments (`module:name`), and what it is for."""

    name: str
    app: str
    summary: str


COMMANDS = (
    Command(
        "abort",
        "shiplift.cli.control:abort_app",
        "Stop an upgrade, a move of workloads or a rollout, and undo what it needed; what has moved stays.",
    ),
    Command("agent", "shiplift.cli.agent:app", "Make the package of the agent that runs on machines."),
    Command(
        "alerts", "shiplift.cli.manifests:alerts_app", "Print alerts for Prometheus, as a PrometheusRule."
    ),
    Command(
        "approve",
        "shiplift.cli.upgrade_control:approve_app",
        "Approve the plan of the upgrade, in your own name.",
    ),
    Command(
        "bootstrap",
        "shiplift.cli.bootstrap:app",
        "Make a cluster out of bare hosts over SSH, or add machines to it.",
    ),
    Command(
        "catalog",
        "shiplift.cli.catalog:app",
        "Look into catalogs of operators: versions, ways from one to another, what blocks.",
    ),
    Command("crds", "shiplift.cli.crds:app", "Print the CustomResourceDefinitions."),
    Command(
        "demo",
        "shiplift.cli.demo:app",
        "Watch a small shop move to new nodes, or its nodes change, on a real Kubernetes of its own.",
    ),
    Command(
        "drain",
        "shiplift.cli.drain:app",
        "Empty a node within its budgets, and say what keeps it from being empty.",
    ),
    Command(
        "explain",
        "shiplift.cli.explain:app",
        "Say what a workload, node or rollout waits for, and what would help.",
    ),
    Command("local", "shiplift.cli.local:app", "A real Kubernetes on this computer."),
    Command(
        "manifests",
        "shiplift.cli.manifests:manifests_app",
        "Print what the operator needs in a cluster: account, RBAC, fence, policies.",
    ),
    Command(
        "migrate",
        "shiplift.cli.migrate:app",
        "Move workloads to the nodes of a version: makes the WorkloadMigration.",
    ),
    Command(
        "operator",
        "shiplift.cli.operator:app",
        "Run the operator: it leads, watches, and acts through the layers.",
    ),
    Command(
        "order", "shiplift.cli.order:app", "Check which workload waits for which, before anything moves."
    ),
    Command("pause", "shiplift.cli.control:pause_app", "Let what is in flight end, and start nothing new."),
    Command(
        "release",
        "shiplift.cli.undo:release_app",
        "The old name of undo, with --all.",
    ),
    Command(
        "report",
        "shiplift.cli.report:app",
        "Tell what an upgrade has changed, when, and what it waited for.",
    ),
    Command(
        "resume",
        "shiplift.cli.control:resume_app",
        "Go on after a pause; a move of workloads also tries again what has failed.",
    ),
    Command("retry", "shiplift.cli.upgrade_control:retry_app", "Let the upgrade try again what has failed."),
    Command(
        "status",
        "shiplift.cli.status:app",
        "Say how far workloads and nodes are on their way, and what they wait for.",
    ),
    Command(
        "undo",
        "shiplift.cli.undo:app",
        "Undo all that was changed in a cluster, even without the operator.",
    ),
    Command(
        "upgrade",
        "shiplift.cli.upgrade:app",
        "Upgrade the cluster to a version: makes the UpgradeConfig.",
    ),
    Command("version", "shiplift.cli.version:app", "Print the version."),
    Command(
        "wait",
        "shiplift.cli.wait:app",
        "Wait until all workloads have moved and all nodes are changed; the exit code tells how it ended.",
    ),
)


_MEANT = {"watch": "status -w"}
"""What is called otherwise here, and like none of the commands."""


def main() -> None:
    """Run the command that the arguments name, then exit."""
    sys.exit(run(sys.argv[1:], _program(sys.argv[0])))


def run(words: Sequence[str], program: str = "shiplift") -> int:
    """The exit code of the command; errors have been written to stderr."""
    try:
        _dispatch(words, program)
        sys.stdout.flush()
    except (KeyboardInterrupt, BrokenPipeError, Exception) as error:
        return _ended(words, error)
    return Exit.FINE


def _ended(words: Sequence[str], error: BaseException) -> Exit:
    """The exit code of an error. Where 1 says that what was waited for will not happen, a mistyped option or
    a network that is away must not say so."""
    code = output.report(error)
    waits = bool(words) and words[0] in _WAITING
    return Exit.UNEXPECTED if waits and code is Exit.ACT and not isinstance(error, GivenUpError) else code


def _dispatch(words: Sequence[str], program: str) -> None:
    if not words or words[0] in _HELP:
        sys.stdout.write(overview(program))
    elif words[0] == "--version":
        sys.stdout.write(f"shiplift {__version__}\n")
    else:
        _run_command(_command(words[0], program), words, program)


def overview(program: str) -> str:
    """What `--help` prints."""
    shown = [command for command in COMMANDS if command.name not in _OLD_NAMES]
    width = max(len(command.name) for command in shown)
    commands = "".join(f"  {command.name:{width}}  {command.summary}\n" for command in shown)
    more = f"{program} COMMAND --help says more."
    return f"Usage: {program} COMMAND\n\n{_ABOUT}\n\nCommands:\n{commands}\n{more}\n"


def _command(name: str, program: str) -> Command:
    for command in COMMANDS:
        if command.name == name:
            return command
    if name in _MEANT:
        raise CommandError(f"there is no command {name!r}", f"did you mean {program} {_MEANT[name]}?")
    import difflib  # only after a slip

    close = difflib.get_close_matches(name, [command.name for command in COMMANDS], n=1)
    hint = f"did you mean {close[0]}?" if close else f"{program} --help lists the commands"
    raise CommandError(f"there is no command {name!r}", hint)


def _run_command(command: Command, words: Sequence[str], program: str) -> None:
    from cyclopts import App, CycloptsError  # keeps --help fast

    root = App(name=program, help_format="plaintext", suppress_keyboard_interrupt=False)
    if not sys.stdout.isatty():
        from rich.console import Console

        root.help_formatter = "plain"
        root.console = Console(width=_UNLIMITED, highlight=False)
    root.command(load(command), name=command.name)
    try:
        root(words, exit_on_error=False, print_error=False, verbose=False, result_action="return_value")
    except CycloptsError as error:
        raise _in_our_words(error, program) from error


def load(command: Command) -> App:
    """The command's app; Ctrl-C in it is ours to handle."""
    module, _, name = command.app.partition(":")
    app: App = getattr(import_module(module), name)
    app.suppress_keyboard_interrupt = False
    return app


def _in_our_words(error: CycloptsError, program: str) -> CommandError:
    """One lower-case line, and a hint: its own where it has one."""
    from shiplift.cli import slips  # only after a slip

    more, meant_by_it = slips.too_many(error)
    message, _, hint = (more or _missing(error) or slips.value(error) or str(error)).partition("\nhint: ")
    message, _, commands = message.partition(" Available commands: ")
    message, _, meant = message.partition(" Did you mean ")
    if meant:
        hint = f"did you mean {meant.partition('?')[0]}?"
    elif commands:
        hint = f"one of {commands.removesuffix('.')}"
    hint = slips.option(error) or meant_by_it or hint
    usage = " ".join([program, *(error.command_chain or ()), "--help"])
    message = message.strip().removesuffix(".")
    first = message[:1] if message[:2].isupper() else message[:1].lower()
    return CommandError(first + message[1:], hint or f"{usage} shows how")


def _missing(error: CycloptsError) -> str:
    """What was not given at all; empty for any other error."""
    from cyclopts import MissingArgumentError

    if not isinstance(error, MissingArgumentError) or error.argument is None:
        return ""
    named = set(error.argument.names) & set(error.root_input_tokens or ())
    return "" if named else f"{error.argument.name} is missing"


def _program(path: str) -> str:
    """As the user called it: kubectl runs its plugins under the name `kubectl-shiplift`."""
    return "kubectl shiplift" if path.rpartition("/")[2].startswith("kubectl-") else "shiplift"
