"""`shiplift pause`, `resume` and `abort`: a person takes the upgrade in hand; or, where none runs or it is
named, the move of workloads; or a NodeRollout.

Each may be said twice: what is so already is left as it is. Nothing is written but the spec of the
WorkloadMigration, by its uid and in the version that was read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli import access, rollout_control, upgrade_control
from shiplift.cli.access import WRONG_CLUSTER, Context, Kubeconfig
from shiplift.cli.confirming import Yes, confirm
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.api.nodes import NodeRollout
    from shiplift.api.workloads import WorkloadMigration, WorkloadMigrationSpec
    from shiplift.kube.client import Client

pause_app = App(
    name="pause",
    usage="Usage: shiplift pause [OPTIONS] [wm|rollout/NAME]",
    help="Let what is in flight end, and start nothing new.",
)
resume_app = App(
    name="resume",
    usage="Usage: shiplift resume [OPTIONS] [wm|rollout/NAME]",
    help="Go on after a pause; a move of workloads also tries again what has failed.",
)
abort_app = App(
    name="abort",
    usage="Usage: shiplift abort [OPTIONS] [wm|rollout/NAME]",
    help="Stop an upgrade, a move of workloads or a rollout, and undo what it needed; what has moved stays.",
)
What = Annotated[
    str,
    Parameter(
        help="wm for the move of workloads, rollout/NAME for a NodeRollout. Default: the upgrade, or the move"
        " of workloads where no upgrade is under way.",
        show_default=False,
    ),
]
Reason = Annotated[
    str,
    Parameter(
        help="Why; of an upgrade only, where it is written down with who asked.",
        show_default=False,
    ),
]
_MIGRATION_WORDS = ("wm", "migration", "workloadmigration")
"""What people type for the WorkloadMigration."""
_TRIES = 10
_WATCH = "shiplift status -w shows how it goes"


@pause_app.default
def pause(
    what: What = "", /, *, reason: Reason = "", kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """Let what is in flight end, and start nothing new."""
    with access.client_of(kubeconfig, context) as client:
        _pause(client, what, reason)
        _tell_absence(client)


def _pause(client: Client, what: str, reason: str) -> None:
    if what and what not in _MIGRATION_WORDS:
        _refuse(reason)
        return rollout_control.pause(client, what)
    if not what and (upgrade := upgrade_control.meant(client)) is not None:
        return upgrade_control.pause(client, upgrade, reason)
    _refuse(reason)
    migration = _the_migration(client, "pause", "shiplift migrate --to VERSION --paused makes one that waits")
    if migration.spec.abort:
        raise _aborted("it is aborted: there is nothing to pause")
    if not _write(client, migration, {"paused": True}):
        return say("it was paused already")
    say(f"paused: what is in flight ends{_in_flight(migration)}; nothing new starts")
    return say("hint: shiplift resume goes on")


@resume_app.default
def resume(
    what: What = "", /, *, reason: Reason = "", kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """Go on after a pause; a move of workloads also tries again what has failed."""
    with access.client_of(kubeconfig, context) as client:
        _resume(client, what, reason)
        _tell_absence(client)


def _resume(client: Client, what: str, reason: str) -> None:
    if what and what not in _MIGRATION_WORDS:
        _refuse(reason)
        return rollout_control.resume(client, what)
    if not what and (upgrade := upgrade_control.meant(client)) is not None:
        return upgrade_control.resume(client, upgrade, reason)
    _refuse(reason)
    migration = _the_migration(client, "resume")
    if migration.spec.abort:
        raise _aborted("it is aborted, not paused")
    if not _write(client, migration, {"paused": False}):
        return say("it was not paused")
    say("resumed: workloads move again as their turn comes")
    return say(f"hint: {_WATCH}")


@abort_app.default
def abort(
    what: What = "",
    /,
    *,
    reason: Reason = "",
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Stop an upgrade, a move of workloads or a rollout, and undo what it needed; what has moved stays."""
    with access.client_of(kubeconfig, context) as client:
        _abort(client, what, reason, yes=yes)
        _tell_absence(client)


def _abort(client: Client, what: str, reason: str, *, yes: bool) -> None:
    if what and what not in _MIGRATION_WORDS:
        _refuse(reason)
        return rollout_control.abort(client, what, yes=yes)
    if not what and (upgrade := upgrade_control.meant(client)) is not None:
        return upgrade_control.abort(client, upgrade, reason, yes=yes)
    _refuse(reason)
    migration = _migration_to_abort(client)
    if migration.spec.abort:
        return say("it was aborted already")
    if _is_at_rest(migration):
        say("there is nothing to abort: nothing is being moved, and nothing of ours is left")
        for one in _rollouts_under_way(client)[:1]:
            say(f"hint: shiplift abort rollout/{one.metadata.name} aborts that rollout")
        return say("hint: shiplift pause keeps another move from beginning")
    _confirm(migration, yes)
    _write(client, migration, {"abort": True})
    say("aborted: nothing more is evicted, what was changed is undone, workloads stay where they are")
    return say(f"hint: {_WATCH}; without an operator, shiplift undo does that")


def _tell_absence(client: Client) -> None:
    """What was asked for is done by an operator: where surely none runs, that is said."""
    from shiplift.cli.hearing import Ear

    heard = Ear(client).surely()
    if heard is not None and heard.silent(int(time.time())) is not None:
        say("note: no operator runs, and what was asked for is done by one; `shiplift operator` runs one")


def _refuse(reason: str) -> None:
    """Only an UpgradeConfig has room for who asked, and why."""
    if reason:
        raise CommandError("a reason is written down for upgrades only", "leave --reason out")


def _is_at_rest(migration: WorkloadMigration) -> bool:
    from shiplift.workloads.face.arrival import is_at_rest

    return is_at_rest(migration)


def _aborted(message: str) -> CommandError:
    from shiplift.workloads.face.words import HOW_TO_GO_ON

    return CommandError(message, HOW_TO_GO_ON)


def _the_migration(client: Client, verb: str, hint: str = "") -> WorkloadMigration:
    """The one of this cluster, as it is now; an error that says what to do where there is none."""
    from shiplift.facts.kinds import WORKLOAD_MIGRATION
    from shiplift.workloads.face.words import HOW_TO_BEGIN, NO_MIGRATION

    try:
        found: WorkloadMigration | None = next(iter(access.objects(client, WORKLOAD_MIGRATION)), None)
    except access.UnknownKindError as error:
        found, missing, hint = None, error.message, WRONG_CLUSTER
    else:
        missing = NO_MIGRATION
    if found is not None:
        return found
    if names := [one.metadata.name for one in _rollouts_under_way(client)]:
        raise _rollout_instead(verb, names)
    raise CommandError(f"there is nothing to {verb}: {missing}", hint or HOW_TO_BEGIN)


def _rollouts_under_way(client: Client) -> list[NodeRollout]:
    """Those that are not over, by name; none where their kind is not known."""
    from shiplift.api.nodes import RolloutPhase
    from shiplift.facts.kinds import NODE_ROLLOUT

    over = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)
    try:
        found: list[NodeRollout] = access.objects(client, NODE_ROLLOUT)
    except access.UnknownKindError:
        return []
    return sorted((one for one in found if one.status.phase not in over), key=lambda one: one.metadata.name)


def _rollout_instead(verb: str, names: list[str]) -> CommandError:
    """There is no upgrade and no move of workloads, and a rollout is under way: that may be meant."""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return CommandError(
        f"no upgrade and no move of workloads is under way, but rollout/{names[0]}{more}",
        f"shiplift {verb} rollout/{names[0]}",
    )


def _migration_to_abort(client: Client) -> WorkloadMigration:
    """One that cannot be read can be aborted all the same: its name is enough."""
    from shiplift.api import ObjectMeta, UnfitObjectError, WorkloadMigration
    from shiplift.facts.kinds import WORKLOAD_MIGRATION

    try:
        return _the_migration(client, "abort", "shiplift undo takes back what an earlier one has left")
    except UnfitObjectError as error:
        say(f"{error}; it can be aborted all the same")
        about = client.get(WORKLOAD_MIGRATION, error.name)["metadata"]
        found = ObjectMeta(name=about["name"], uid=about["uid"], resource_version=about["resourceVersion"])
        return WorkloadMigration(metadata=found)


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
            migration = _migration_to_abort(client) if "abort" in wanted else _the_migration(client, "change")
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
    done = migration.status.progress
    question = (
        f"abort the move to {migration.status.target}? {done.done} of {done.total} workloads have moved"
    )
    refused = CommandError("not aborted", "only y or yes aborts")
    confirm(question if done.total else "abort the move of workloads?", "shiplift abort --yes", refused)
