"""`shiplift drain NODE`: a node is cordoned and emptied within the budgets of its pods.

A drain that does not come to its end, however it ends, leaves the node as it was found: uncordoned, unless it
was cordoned before. What was evicted is evicted. With --dry-run nothing is changed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from rich.table import Table

    from shiplift.drain.draining import Draining
    from shiplift.drain.model import Reason, Settings
    from shiplift.drain.plan import Plan
    from shiplift.drain.telling import Row
    from shiplift.kube.client import Client

app = App(
    name="drain",
    help="Empty a node within its budgets, and say what keeps it from being empty.",
    help_epilogue="Exit codes: 0 the node is drained; 1 you must act: pods must not or can never go; 124 not"
    " drained within --timeout; 130 interrupted. A drain that does not come to its end leaves the node as it"
    " was found.",
)
_LONGEST_GRACE = 2**31 - 1
_MAY_READ = "kubectl auth can-i get daemonsets.apps -A tells whether you may"


def _flag(text: str) -> Parameter:
    return Parameter(negative="", show_default=False, help=text)


@app.default
def drain(  # noqa: PLR0913 - each is an option
    node: Annotated[str, Parameter(help="The name of the node.")],
    /,
    *,
    dry_run: Annotated[
        bool, _flag("Change nothing; say what would go, and what would be in the way.")
    ] = False,
    timeout: Annotated[
        str, Parameter(help="How long at most, as 90s, 15m or 1h30m; 0 waits for ever.")
    ] = "0",
    grace_period: Annotated[
        int | None,
        Parameter(show_default=False, help="Seconds that pods have to end; default: what each asks for."),
    ] = None,
    delete_emptydir_data: Annotated[
        bool, _flag("Evict pods although their emptyDir volumes are lost.")
    ] = False,
    evict_unmanaged: Annotated[bool, _flag("Evict pods that nobody brings back.")] = False,
    skip_wait_for_delete_timeout: Annotated[
        int, Parameter(help="Do not wait for pods that should have ended so many seconds ago; 0 always does.")
    ] = 0,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Empty a node within its budgets, and say what keeps it from being empty."""
    from shiplift.drain.model import Settings

    limit = _seconds(timeout)
    _check("--grace-period", grace_period)
    _check("--skip-wait-for-delete-timeout", skip_wait_for_delete_timeout)
    settings = Settings(delete_emptydir_data, evict_unmanaged, grace_period, skip_wait_for_delete_timeout)
    with access.client_of(kubeconfig, context) as client, _drain_of(client, node, settings) as work:
        if dry_run:
            return _tell(client, work, node)
        return _empty(client, work, node, limit)


def _seconds(text: str) -> float:
    from shiplift.api.values import duration

    try:
        return 0.0 if text == "0" else duration(text).total_seconds()
    except ValueError as error:
        hint = "for example 90s, 15m or 1h30m; 0 waits for ever"
        raise CommandError(f"--timeout {text!r} is no time", hint) from error


def _check(option: str, seconds: int | None) -> None:
    if seconds is not None and not 0 <= seconds <= _LONGEST_GRACE:
        raise CommandError(f"{option} {seconds} is no number of seconds", f"from 0 to {_LONGEST_GRACE}")


@contextlib.contextmanager
def _drain_of(client: Client, node: str, settings: Settings) -> Generator[Draining]:
    from shiplift.drain.draining import Draining
    from shiplift.drain.looking import Looking
    from shiplift.drain.own import is_operator
    from shiplift.drain.reads import reads

    _check_node(client, node)
    found = reads(client, node)
    for line in found.unread:
        say(f"note: {line}")
    with (
        access.followed(client.credentials, found.watches) as store,
        Draining(Looking(client, store, node, found), settings, is_operator) as work,
    ):
        store.subscribe(work.wake)
        yield work


def _check_node(client: Client, name: str) -> None:
    from shiplift.drain.cordon import cordoned_by
    from shiplift.facts.kinds import NODE
    from shiplift.kube.errors import NotFound

    try:
        live = client.get(NODE, name)
    except ValueError as error:
        raise CommandError(f"{name!r} is no name of a node", "kubectl get nodes lists them") from error
    except NotFound as error:
        raise CommandError(f"there is no node {name}", _meant(client, name)) from error
    if rollout := cordoned_by(live):
        say(f"note: NodeRollout {rollout} has cordoned node {name}, and drains it itself")


def _meant(client: Client, name: str) -> str:
    import difflib

    from shiplift.facts.kinds import NODE
    from shiplift.kube.errors import KubeError

    try:
        names = [one["metadata"]["name"] for one in client.list(NODE)]
    except KubeError:
        names = []
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else "kubectl get nodes lists them"


def _helps() -> dict[Reason, str]:
    from shiplift.drain.model import Reason

    needed = {reason: f"needs {option}" for reason, option in _options().items()}
    return {**needed, Reason.DAEMON_SET_UNKNOWN: _MAY_READ}


def _options() -> dict[Reason, str]:
    """What lets a pod go that must not."""
    from shiplift.drain.model import Reason

    return {
        Reason.EMPTY_DIR: "--delete-emptydir-data",
        Reason.UNMANAGED: "--evict-unmanaged",
        Reason.DAEMON_SET_GONE: "--evict-unmanaged",
    }


def _tell(client: Client, work: Draining, node: str) -> None:
    """What a drain would do, as far as it can be told before; the exit code says whether it would end."""
    from shiplift.drain import telling

    found = _asked(work, work.look())
    access.show(access.terminal(), _table(telling.rows(found, _helps())))
    sys.stdout.flush()
    say(telling.summary(node, found))
    _check_rights(client, found)
    if not found.may_begin:
        raise _in_the_way(node, found)


def _asked(work: Draining, found: Plan) -> Plan:
    """The plan, with what the API server itself would answer to each eviction."""
    import msgspec

    from shiplift.drain.model import Wait, Why

    answers = [(one, work.ask(one.pod)) for one in found.evictions]
    refused = tuple(Wait(one.pod, Why.REFUSED, text) for one, text in answers if text)
    granted = tuple(one for one, text in answers if not text)
    return msgspec.structs.replace(found, evictions=granted, waits=(*found.waits, *refused))


def _table(rows: list[Row]) -> Table:
    from shiplift.face import layout
    from shiplift.face.wrapping import Sentence
    from shiplift.view.values import plain

    table = layout.table("POD", "WHAT", "BUDGET", "WHY", wraps=("WHY",))
    for row in rows:
        table.add_row(plain(row.pod), row.what, plain(row.budget) or "-", Sentence(plain(row.why)))
    return table


def _check_rights(client: Client, found: Plan) -> None:
    from shiplift.drain.reads import missing_rights

    namespaces = {one.pod.namespace for one in (*found.evictions, *found.waits)}
    if missing := missing_rights(client, namespaces):
        raise CommandError(
            f"you lack the right to {', and to '.join(missing)}; nothing was changed",
            "an administrator can grant it; kubectl auth can-i --list tells what you may do",
        )


def _in_the_way(node: str, found: Plan) -> CommandError:
    """What somebody has to decide or mend first."""
    from shiplift.drain.telling import counted

    if found.cannot:
        reasons = dict.fromkeys(reason for one in found.cannot for reason in one.reasons)
        what, hint = "must not go", helping(reasons)
    else:
        what, hint = "can never go", found.for_ever[0].unblocks
    number = counted(len(found.cannot) or len(found.for_ever))
    return CommandError(f"node {node} cannot be drained: {number} {what}; nothing was changed", hint)


def helping(reasons: Iterable[Reason]) -> str:
    """What lets all pods go that must not: options are needed together."""
    known, given = _options(), list(reasons)
    options = dict.fromkeys(known[one] for one in given if one in known)
    both = [f"{' together with '.join(options)} evicts all the same"] if options else []
    return "; ".join([*both, *([_MAY_READ] if any(one not in known for one in given) else [])])


def _empty(client: Client, work: Draining, node: str, limit: float) -> None:
    from shiplift.cli import drain_run
    from shiplift.drain import telling
    from shiplift.drain.cordon import Cordon

    found = work.look()
    _check_rights(client, found)
    if not found.may_begin:
        for row in telling.rows(found, _helps()):
            if row.what in telling.IN_THE_WAY:
                say(f"{row.pod} {row.what}: {row.why}")
        raise _in_the_way(node, found)
    drain_run.run(work, Cordon(client, node), node, limit)
