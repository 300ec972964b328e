"""`shiplift pause`, `resume`, `abort` and `release`: a person takes the move of workloads in hand.

Each may be said twice: what is so already is left as it is. Nothing is written but the spec of the
WorkloadMigration, by its uid and in the version that was read; only `release --all` undoes things itself.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.api.workloads import WorkloadMigration, WorkloadMigrationSpec
    from shiplift.kube.client import Client

pause_app = App(name="pause", help="Let what is in flight end, and start nothing new.")
resume_app = App(name="resume", help="Go on after a pause.")
abort_app = App(
    name="abort", help="Stop moving workloads and undo what was changed; they stay where they are."
)
release_app = App(name="release", help="Undo all that was changed for a move, even without the operator.")
_TRIES = 10
_WATCH = "shiplift status -w shows how it goes"


@pause_app.default
def pause(*, kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Let what is in flight end, and start nothing new."""
    with access.client_of(kubeconfig, context) as client:
        migration = access.the_migration(client)
        if migration.spec.abort:
            raise CommandError("it is aborted: there is nothing to pause", access.HOW_TO_GO_ON)
        if not _write(client, migration, {"paused": True}):
            return say("it was paused already")
    say(f"paused: what is in flight ends{_in_flight(migration)}; nothing new starts")
    return say("hint: shiplift resume goes on")


@resume_app.default
def resume(*, kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Go on after a pause."""
    with access.client_of(kubeconfig, context) as client:
        migration = access.the_migration(client)
        if migration.spec.abort:
            raise CommandError("it is aborted, not paused", access.HOW_TO_GO_ON)
        if not _write(client, migration, {"paused": False}):
            return say("it was not paused")
    say("resumed: workloads move again as their turn comes")
    return say(f"hint: {_WATCH}")


@abort_app.default
def abort(
    *,
    yes: Annotated[
        bool, Parameter(name=["--yes", "-y"], negative="", show_default=False, help="Do not ask.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Stop moving workloads and undo what was changed; they stay where they are."""
    with access.client_of(kubeconfig, context) as client:
        migration = access.the_migration(client)
        if migration.spec.abort:
            return say("it was aborted already")
        _confirm(migration, yes)
        _write(client, migration, {"abort": True})
    say("aborted: nothing more is evicted, what was changed is undone, workloads stay where they are")
    return say(f"hint: {_WATCH}; without an operator, shiplift release --all undoes it")


@release_app.default
def release(
    *,
    every: Annotated[
        bool, Parameter(name="--all", negative="", show_default=False, help="Needed: it is all or nothing.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Undo all that was changed for a move, even without the operator.

    Holds, placements, labels and taints go; workloads stay where they are. The migration is aborted first,
    so that an operator that comes back does not begin again.
    """
    if not every:
        raise CommandError(
            "release undoes everything or nothing",
            "shiplift release --all aborts the migration, removes our PodDisruptionBudgets, placements, "
            "labels and taints, and gives yours back as they were",
        )
    from shiplift.kube.watch import Watch
    from shiplift.workloads.observe.observer import READS
    from shiplift.workloads.release import release_all

    with access.client_of(kubeconfig, context) as client:
        access.find_migration(client)  # says what to do where our kinds are not known
        with access.followed(client.credentials, map(Watch, READS)) as store:
            changes = release_all(client, store, say)
    say(f"done: {changes:,} changes" if changes else "nothing of ours was left to undo")


def _write(client: Client, migration: WorkloadMigration, wanted: Mapping[str, bool]) -> bool:
    """Whether the spec had to be changed. The operator writes to the object all the time: look again then."""
    from shiplift.facts.kinds import WORKLOAD_MIGRATION
    from shiplift.kube.errors import Conflict

    for _ in range(_TRIES):
        if _is_so(migration.spec, wanted):
            return False
        about = migration.metadata
        try:
            client.patch(
                WORKLOAD_MIGRATION,
                about.name,
                {"spec": dict(wanted)},
                uid=about.uid,
                resource_version=about.resource_version,
            )
        except Conflict:
            migration = access.the_migration(client)
        else:
            return True
    raise CommandError("the WorkloadMigration changes all the time", "try again")


def _is_so(spec: WorkloadMigrationSpec, wanted: Mapping[str, bool]) -> bool:
    fields: dict[str, Any] = {"paused": spec.paused, "abort": spec.abort}
    return all(fields[field] == value for field, value in wanted.items())


def _in_flight(migration: WorkloadMigration) -> str:
    from shiplift.api.workloads import WorkloadState

    moving = [
        f"{one.kind} {one.namespace}/{one.name}"
        for one in migration.status.workloads
        if one.state is WorkloadState.MOVING
    ]
    if not moving:
        return ""
    more = f" and {len(moving) - 1:,} more" if len(moving) > 1 else ""
    return f" ({moving[0]}{more})"


def _confirm(migration: WorkloadMigration, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("nobody is here to confirm it", "shiplift abort --yes asks nothing")
    done = migration.status.progress
    question = (
        f"abort the move to {migration.status.target}? {done.done} of {done.total} workloads have moved"
    )
    sys.stderr.write(f"{question if done.total else 'abort?'} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("not aborted", "only y or yes aborts")
