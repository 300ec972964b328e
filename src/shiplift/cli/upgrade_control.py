"""`shiplift pause|resume|abort|approve|retry`: a person takes the upgrade in hand, and says who and why.

Each may be said twice: what is so already is left as it is. Nothing is written but the spec of the
UpgradeConfig, by its uid and in the version that was read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.confirming import Yes, confirm
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.api.upgrade import UpgradeConfig, Verb
    from shiplift.kube.client import Client

approve_app = App(name="approve", help="Approve the plan of the upgrade, in your own name.")
retry_app = App(name="retry", help="Let the upgrade try again what has failed.")
Reason = Annotated[str, Parameter(help="Why; it is written down with who asked.", show_default=False)]
Spec = dict[str, Any]
_TRIES = 10
_WATCH = "shiplift status -w shows how it goes"


def the_upgrade(client: Client) -> UpgradeConfig | None:
    """The one of this cluster, as it is now; None where there is none, or its kind is not known."""
    from shiplift.facts.kinds import UPGRADE_CONFIG

    try:
        return next(iter(access.objects(client, UPGRADE_CONFIG)), None)
    except access.UnknownKindError:
        return None


def meant(client: Client) -> UpgradeConfig | None:
    """The upgrade that a verb without a name is about: one that is not over."""
    from shiplift.api.upgrade import UpgradePhase

    found = the_upgrade(client)
    if found is None or found.metadata.deletion_timestamp is not None:
        return None
    over = found.status.target_version is None and found.status.phase is UpgradePhase.UPGRADED
    gone = found.spec.abort and found.status.target_version is None and bool(found.status.history)
    return None if (over or gone) and not found.spec.paused else found


def pause(client: Client, upgrade: UpgradeConfig, reason: str) -> None:
    from shiplift.api.upgrade import Verb

    _refuse_aborted(upgrade, "there is nothing to pause")
    if not _write(
        client, upgrade, Verb.PAUSE, reason, lambda one: {} if one.spec.paused else {"paused": True}
    ):
        return say("the upgrade was paused already")
    say("paused: what is in flight ends, nothing new is begun")
    return say("hint: shiplift resume goes on")


def resume(client: Client, upgrade: UpgradeConfig, reason: str) -> None:
    from shiplift.api.upgrade import Verb

    _refuse_aborted(upgrade, "it is not paused")
    if not _write(
        client, upgrade, Verb.RESUME, reason, lambda one: {"paused": False} if one.spec.paused else {}
    ):
        say("the upgrade was not paused")
        return say("hint: shiplift retry tries again what has failed")
    say("resumed: the upgrade goes on")
    return say(f"hint: {_WATCH}")


def abort(client: Client, upgrade: UpgradeConfig, reason: str, *, yes: bool) -> None:
    from shiplift.api.upgrade import Verb

    if upgrade.spec.abort:
        return say("the upgrade was aborted already")
    if not yes:
        done = upgrade.status.nodes
        question = f"abort the upgrade to {_target(upgrade)}? {done.done} of {done.total} nodes run it"
        confirm(question, "shiplift abort --yes", CommandError("not aborted", "only y or yes aborts"))
    _write(client, upgrade, Verb.ABORT, reason, lambda one: {} if one.spec.abort else {"abort": True})
    say("aborted: it stops at the next safe point; what was upgraded stays so, all else is given back")
    return say(f"hint: {_WATCH}")


@approve_app.default
def approve(
    *,
    reason: Reason = "",
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Approve the plan of the upgrade, in your own name.

    The approval counts for the version and the plan that are shown, and for no other.
    """
    with access.client_of(kubeconfig, context) as client:
        upgrade = _upgrade_to(client, "approve")
        wanted = _granted(upgrade)
        if wanted is None:
            return say(f"the plan to {_target(upgrade)} is approved already")
        if not yes:
            for line in plan_lines(upgrade):
                say(line)
            refused = CommandError("not approved", "only y or yes approves")
            confirm("approve it?", "shiplift approve --yes", refused)
        _approve(client, upgrade, wanted, reason)
    say(f"approved the plan to {wanted['version']}")
    return say(f"hint: {_WATCH}")


def plan_lines(upgrade: UpgradeConfig) -> list[str]:
    """The plan as it was told, a line each."""
    plan = upgrade.status.plan
    steps = plan.summary.split("; ") if plan is not None else []
    return [
        f"the plan to {_target(upgrade)}:",
        *(f"  {number}. {step}" for number, step in enumerate(steps, 1)),
    ]


def _granted(upgrade: UpgradeConfig) -> Spec | None:
    """What an approval of the plan that is told has to say; None where it was given."""
    from shiplift.api.values import Approval

    plan, before = upgrade.status.plan, upgrade.spec.approved
    if upgrade.spec.approval is not Approval.MANUAL:
        raise CommandError(
            "there is nothing to approve: the upgrade asks nobody",
            "spec.approval of UpgradeConfig cluster is not Manual",
        )
    if plan is None or upgrade.status.observed_generation < upgrade.metadata.generation:
        raise CommandError(
            "there is no plan of what is asked for now",
            upgrade.status.message or "an operator with the layer upgrade has to look at it first",
        )
    if before is not None and (before.version, before.plan_digest) == (plan.version, plan.digest):
        return None
    return {"version": plan.version, "planDigest": plan.digest}


def _approve(client: Client, upgrade: UpgradeConfig, wanted: Spec, reason: str) -> None:
    """What was shown is approved, whatever has come since: it counts for that plan only."""
    from shiplift.api.upgrade import Verb

    def change(_: UpgradeConfig) -> Spec:
        given = {**wanted, "by": _who(client), "at": _now()}
        return {"approved": given | ({"reason": reason} if reason else {"reason": None})}

    _write(client, upgrade, Verb.APPROVE, reason, change)


@retry_app.default
def retry(*, reason: Reason = "", kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Let the upgrade try again what has failed."""
    from shiplift.api.upgrade import Verb

    with access.client_of(kubeconfig, context) as client:
        upgrade = _upgrade_to(client, "retry")
        _refuse_aborted(upgrade, "it is not tried again")
        if upgrade.spec.retry > upgrade.status.retried:
            return say("it was asked for already, and no operator has done it yet")
        _write(client, upgrade, Verb.RETRY, reason, lambda one: {"retry": one.spec.retry + 1})
    say("what has failed is tried again")
    return say(f"hint: {_WATCH}")


def _upgrade_to(client: Client, verb: str) -> UpgradeConfig:
    found = the_upgrade(client)
    if found is None:
        raise CommandError(
            f"there is nothing to {verb}: there is no UpgradeConfig in this cluster",
            "shiplift upgrade --to VERSION makes one",
        )
    return found


def _target(upgrade: UpgradeConfig) -> str:
    return upgrade.status.target_version or upgrade.spec.desired.version or ""


def _refuse_aborted(upgrade: UpgradeConfig, so: str) -> None:
    if upgrade.spec.abort:
        raise CommandError(
            f"the upgrade is aborted: {so}", "shiplift upgrade --to VERSION begins one to another version"
        )


def _write(
    client: Client,
    upgrade: UpgradeConfig,
    verb: Verb,
    reason: str,
    change: Callable[[UpgradeConfig], Spec],
) -> bool:
    """Whether the spec had to be changed. The operator writes to the object all the time: look again then."""
    from shiplift.facts.kinds import UPGRADE_CONFIG
    from shiplift.kube.errors import Conflict

    for _ in range(_TRIES):
        if not (wanted := change(upgrade)):
            return False
        about, spec = upgrade.metadata, {**wanted, "requests": asked(client, upgrade, verb, reason)}
        try:
            client.patch(
                UPGRADE_CONFIG,
                about.name,
                {"spec": spec},
                uid=about.uid,
                resource_version=about.resource_version,
            )
        except Conflict:
            upgrade = _upgrade_to(client, verb.value.lower())
        else:
            return True
    raise CommandError("the UpgradeConfig changes all the time", "try again")


def asked(client: Client, upgrade: UpgradeConfig, verb: Verb, reason: str) -> list[Spec]:
    """Who asked last for each verb, and why; of this one, now."""
    import msgspec

    others: list[Spec] = [msgspec.to_builtins(one) for one in upgrade.spec.requests if one.verb is not verb]
    given: Spec = {"verb": verb.value, "by": _who(client), "at": _now()}
    return [*others, given | ({"reason": reason} if reason else {})]


def _who(client: Client) -> str:
    from shiplift.kube.fence import whoami

    return whoami(client).username


def _now() -> str:
    from datetime import UTC, datetime

    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
