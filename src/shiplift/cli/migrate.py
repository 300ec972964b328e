"""`shiplift migrate --to VERSION`: makes the one WorkloadMigration of a cluster, or gives it another target.

What is there is changed only after it was shown and somebody agreed, in the version that was shown.
Nothing changes but `target`, `paused` where that is asked for, and `abort` where the last one was aborted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.confirming import Yes, confirm
from shiplift.cli.output import CommandError, say
from shiplift.cli.showing import write_over

if TYPE_CHECKING:
    from shiplift.api.workloads import WorkloadMigration
    from shiplift.kube.client import Client
    from shiplift.view.values import Heard

app = App(name="migrate", help="Move workloads to the nodes of a version: makes the WorkloadMigration.")
Spec = dict[str, Any]
_NAME = "cluster"
_WATCH = "hint: shiplift status -w shows how it goes"


@app.default
def migrate(
    *,
    to: Annotated[str, Parameter(help="The kubelet version to move to, as v1.36.3.")],
    paused: Annotated[
        bool, Parameter(negative="", show_default=False, help="Nothing moves before `shiplift resume`.")
    ] = False,
    yes: Yes = False,
    dry_run: Annotated[
        bool, Parameter(negative="", show_default=False, help="Say what would change; change nothing.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Move workloads to the nodes of a version: makes the WorkloadMigration, or gives it that target."""
    target = read_version(to)
    with access.client_of(kubeconfig, context) as client:
        found = _the_migration(client)
        _tell_nodes(client, target)
        if found is None:
            _make(client, {"target": target} | _paused(paused), dry_run)
        else:
            wanted = changes(found, target) | _paused(paused and not found.spec.paused)
            _retarget(client, found, wanted, yes=yes, dry_run=dry_run)


def _paused(wanted: bool) -> Spec:
    return {"paused": True} if wanted else {}


def read_version(text: str) -> str:
    """The version in its normal form; an error that says how one is written."""
    import msgspec

    from shiplift.api.values import Version
    from shiplift.engine import versions

    try:
        return versions.normal(msgspec.convert(text, Version))
    except (ValueError, msgspec.ValidationError) as error:
        raise CommandError(f"{text!r} is no version of Kubernetes", "for example v1.36.3") from error


def _the_migration(client: Client) -> WorkloadMigration | None:
    from shiplift.facts.kinds import WORKLOAD_MIGRATION

    return next(iter(access.objects(client, WORKLOAD_MIGRATION)), None)


def _tell_nodes(client: Client, target: str) -> None:
    """A version that no node runs may be a slip, or nodes are still to come. Whoever may not see nodes is not
    told."""
    from collections import Counter

    from shiplift.engine import versions
    from shiplift.facts.kinds import NODE
    from shiplift.kube.errors import Forbidden

    try:
        nodes = list(client.list(NODE))
    except Forbidden:
        return
    seen = Counter(versions.normal(one["status"]["nodeInfo"]["kubeletVersion"]) for one in nodes)
    if target not in seen:
        runs = ", ".join(f"{many} on {version}" for version, many in sorted(seen.items()))
        say(f"no node runs {target} yet ({runs or 'there is none'}): nothing moves before one does")


def _make(client: Client, spec: Spec, dry_run: bool) -> None:
    from shiplift.facts.kinds import WORKLOAD_MIGRATION

    client.create(WORKLOAD_MIGRATION, {"metadata": {"name": _NAME}, "spec": spec}, dry_run=dry_run)
    when = "after `shiplift resume`" if spec.get("paused") else "as their turn comes"
    say(
        f"{'would make' if dry_run else 'made'} WorkloadMigration {_NAME}:"
        f" workloads move to {spec['target']} {when}"
    )
    if not dry_run:
        _tell_how_it_goes(client)


def _retarget(client: Client, found: WorkloadMigration, wanted: Spec, *, yes: bool, dry_run: bool) -> None:
    if not wanted:
        return say(f"nothing to change: the target of WorkloadMigration {_NAME} is {found.spec.target}")
    for line in shown(found, wanted):
        say(line)
    if dry_run:
        return None
    if not yes:
        refused = CommandError("not changed", "only y or yes changes it")
        confirm("change it?", "shiplift migrate --to VERSION --yes", refused)
    write_over(client, found, wanted, _the_migration)
    say(f"changed WorkloadMigration {_NAME}")
    return _tell_how_it_goes(client)


def _tell_how_it_goes(client: Client) -> None:
    import time

    from shiplift.cli.hearing import Ear

    for line in how_it_goes(Ear(client).surely(), int(time.time())):
        say(line)


def how_it_goes(heard: Heard | None, now: int) -> list[str]:
    """What follows: nothing, where no operator runs; `heard` is what its Lease says, None where there is none
    to be seen."""
    if heard is not None and heard.silent(now) is None:
        return [_WATCH]
    seen = "no operator has been seen" if heard is None else "no operator runs"
    return [f"{seen}: nothing moves before one does; `shiplift operator` runs one from here", _WATCH]


def changes(found: WorkloadMigration, target: str) -> Spec:
    """The fields of the spec that have to change; an error where that cannot be."""
    from shiplift.engine import versions

    if found.metadata.deletion_timestamp:
        raise CommandError(
            f"WorkloadMigration {_NAME} is being deleted", "wait until it is gone, then say it again"
        )
    same = versions.goal(found.spec.target or "") == target
    if same and found.spec.abort:
        raise CommandError(
            f"the move to {target} was aborted, and an abort cannot be withdrawn",
            f"kubectl delete workloadmigration {_NAME}, then say it again",
        )
    return ({} if same else {"target": target}) | ({"abort": False} if found.spec.abort else {})


def shown(found: WorkloadMigration, wanted: Spec) -> list[str]:
    """A line for each field, and what that means for workloads."""
    spec = found.spec
    before: Spec = {
        "target": spec.target or "the highest version seen",
        "abort": spec.abort,
        "paused": spec.paused,
    }
    lines = [
        f"{name} of WorkloadMigration {_NAME}: {_word(before[name])} -> {_word(value)}"
        for name, value in wanted.items()
    ]
    done = found.status.progress
    if found.status.target and done.done:
        lines.append(f"{done.done} of {done.total} workloads have moved to {found.status.target}")
    if spec.paused:
        lines.append("it stays paused: shiplift resume goes on")
    return lines


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
