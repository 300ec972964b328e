"""What somebody who mistyped a command is told: what is wrong in words of ours, and what may be meant."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import CycloptsError

_FOR_ALL = "it takes no name: it is about all that there is"
_TAKES = {
    "drain": "one node at a time: run it once for each",
    "wait": _FOR_ALL,
    "status": _FOR_ALL,
    "undo": _FOR_ALL,
}
"""By command: what it takes, for somebody who gave more."""
_OF_KUBECTL_DRAIN = {
    "--force": "--evict-unmanaged evicts pods that nobody brings back; budgets hold",
    "--ignore-daemonsets": "leave it out: pods of DaemonSets stay",
    "--delete-local-data": "--delete-emptydir-data evicts pods although their emptyDir volumes are lost",
    "--disable-eviction": "there is none such: budgets hold",
}
"""Options of `kubectl drain` that are called otherwise here."""
_KINDS = ("node", "no", "rollout", "nr", "noderollout", "deploy", "deployment", "sts", "statefulset", "pod")


def too_many(error: CycloptsError) -> tuple[str, str]:
    """Words that nothing takes: what is wrong, and a hint; both empty for any other error."""
    from cyclopts import UnusedCliTokensError

    unused = list(error.unused_tokens or ()) if isinstance(error, UnusedCliTokensError) else []
    if not unused:
        return "", ""
    given = list(error.root_input_tokens or ())
    before = given[given.index(unused[0]) - 1] if unused[0] in given[1:] else ""
    message = f"{' '.join(unused)!r} is more than {_command(error)} takes"
    if before.lower() in _KINDS:
        return message, f"did you mean {before}/{unused[0]}?"
    return message, _TAKES.get(_command(error), "")


def value(error: CycloptsError) -> str:
    """A value that an option cannot have: what was given, and what it is not; empty for any other error."""
    from cyclopts import CoercionError, MissingArgumentError

    if isinstance(error, CoercionError) and error.token is not None and error.target_type in (int, float):
        named = error.token.keyword or (error.argument.name if error.argument else "it")
        return f"{named} {error.token.value!r} is no number"
    if not isinstance(error, MissingArgumentError) or error.argument is None:
        return ""
    given = list(error.root_input_tokens or ())
    for name, after in pairwise(given):
        if name in error.argument.names and after[:1] == "-" and after[1:2].isdigit():
            return f"{name} {after!r} is less than nothing"
    return ""


def option(error: CycloptsError) -> str:
    """A hint for an option that `kubectl` has and we call otherwise; empty for any other error."""
    from cyclopts import UnknownOptionError

    if not isinstance(error, UnknownOptionError) or _command(error) != "drain":
        return ""
    return _OF_KUBECTL_DRAIN.get((error.token.keyword or error.token.value or "").partition("=")[0], "")


def _command(error: CycloptsError) -> str:
    return (error.command_chain or ("it",))[-1]
