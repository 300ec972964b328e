"""`shiplift upgrade --to VERSION`: makes the one UpgradeConfig of a cluster, or gives it another version.

What is there is changed only after it was shown and somebody agreed, in the version that was shown. Without
`--approve` a new upgrade waits until somebody has approved its plan.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import App, Parameter

from shiplift.cli import access, upgrade_control
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.confirming import Yes, confirm
from shiplift.cli.migrate import how_it_goes, read_version
from shiplift.cli.output import CommandError, say
from shiplift.cli.showing import write_over

if TYPE_CHECKING:
    from shiplift.api.upgrade import UpgradeConfig
    from shiplift.kube.client import Client

app = App(name="upgrade", help="Upgrade the cluster to a version: makes the UpgradeConfig.")
Spec = dict[str, Any]
_NAME = "cluster"
_WINDOW = re.compile(r"(?P<schedule>\S+( \S+){4}) for (?P<duration>\w+)(?: in (?P<zone>\S+))?")
_AGAIN = "shiplift upgrade --to VERSION --yes"


@app.default
def upgrade(  # noqa: PLR0913 - the options of the command
    *,
    to: Annotated[
        str, Parameter(help="The version of Kubernetes, as v1.36.3; with --external a minor will do: 1.36.")
    ],
    external: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Somebody else changes control plane and nodes: a cloud, Cluster API, a person.",
        ),
    ] = False,
    at: Annotated[
        str,
        Parameter(
            show_default=False,
            help="Not before this time, as 2026-11-20T22:00:00Z. Default: as it is; of a new one: now.",
        ),
    ] = "",
    window: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="When steps may be begun, as '0 22 * * 1-5 for 4h in Europe/Madrid'; may be given again.",
        ),
    ] = (),
    approve: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Start without waiting for `shiplift approve`."),
    ] = False,
    yes: Yes = False,
    dry_run: Annotated[
        bool, Parameter(negative="", show_default=False, help="Say what would change; change nothing.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Upgrade the cluster to a version: makes the UpgradeConfig, or gives it that version."""
    kind = {"type": "External"} if external else {}
    wanted: Spec = (
        {"desired": {"version": _version(to, external=external)}} | kind | _when(at) | _windows(window)
    )
    with access.client_of(kubeconfig, context) as client:
        found = _found(client)
        if found is None:
            _make(client, wanted | ({} if approve else {"approval": "Manual"}), dry_run=dry_run)
        else:
            _change(client, found, wanted, approve=approve, yes=yes, dry_run=dry_run)


def _found(client: Client) -> UpgradeConfig | None:
    from shiplift.facts.kinds import UPGRADE_CONFIG

    return next(iter(access.objects(client, UPGRADE_CONFIG)), None)


def _version(text: str, *, external: bool) -> str:
    """In its normal form; a minor goes where somebody else changes nodes."""
    from shiplift.engine import versions

    if versions.MINOR.fullmatch(text) is None:
        return read_version(text)
    if not external:
        raise CommandError(f"{text!r} is a minor", "give a whole version, such as v1.36.3, or --external")
    return versions.goal(text)


def _when(at: str) -> Spec:
    from datetime import UTC, datetime

    if not at:
        return {}
    hint = "write it like 2026-11-20T22:00:00Z, or with an offset: 2026-11-20T22:00:00+01:00"
    try:
        moment = datetime.fromisoformat(at)
    except ValueError as error:
        raise CommandError(f"{at!r} is no time", hint) from error
    if moment.tzinfo is None:
        raise CommandError(f"{at!r} does not say in which time zone it is", hint)
    return {"upgradeAt": f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"}


def _windows(texts: tuple[str, ...]) -> Spec:
    return {"windows": [_window(one) for one in texts]} if texts else {}


def _window(text: str) -> Spec:
    """A window that can be used; an error that says how one is written."""
    from shiplift.api.values import duration
    from shiplift.engine.windows import Window, WindowError

    found = _WINDOW.fullmatch(" ".join(text.split()))
    if found is None:
        raise CommandError(f"{text!r} is no window", "write it like '0 22 * * 1-5 for 4h in Europe/Madrid'")
    zone = found["zone"] or "UTC"
    try:
        Window(found["schedule"], duration(found["duration"]), zone)
    except WindowError as error:
        raise CommandError(str(error), error.hint) from error
    except ValueError as error:
        raise CommandError(str(error), "for example 90m or 4h") from error
    made = {"schedule": found["schedule"], "duration": found["duration"]}
    return made if zone == "UTC" else made | {"timeZone": zone}


def _make(client: Client, spec: Spec, *, dry_run: bool) -> None:
    from shiplift.facts.kinds import UPGRADE_CONFIG

    client.create(UPGRADE_CONFIG, {"metadata": {"name": _NAME}, "spec": spec}, dry_run=dry_run)
    when = f" at {spec['upgradeAt']}" if "upgradeAt" in spec else ""
    waits = ", once its plan is approved" if "approval" in spec else ""
    made = "would make" if dry_run else "made"
    say(f"{made} UpgradeConfig {_NAME}: the cluster is upgraded to {spec['desired']['version']}{when}{waits}")
    if dry_run:
        return
    _tell_how_it_goes(client)
    if waits:
        say("hint: shiplift approve shows the plan and approves it")


def _change(
    client: Client, found: UpgradeConfig, wanted: Spec, *, approve: bool, yes: bool, dry_run: bool
) -> None:
    changed = changes(found, wanted)
    if not changed:
        return _tell_same(found, wanted)
    for line in _shown(found, changed):
        say(line)
    if dry_run:
        return None
    if not yes:
        confirm("change it?", _AGAIN, CommandError("not changed", "only y or yes changes it"))
    write_over(client, found, changed, upgrade_control.the_upgrade)
    say(f"changed UpgradeConfig {_NAME}")
    if found.spec.approval.value == "Manual":
        say(f"hint: shiplift approve shows the plan and approves it{'; --approve is for new ones' * approve}")
    return _tell_how_it_goes(client)


def _tell_same(found: UpgradeConfig, wanted: Spec) -> None:
    """Whoever names no time keeps the one that is there: that may not be what they mean."""
    import msgspec

    at = msgspec.to_builtins(found.spec).get("upgradeAt")
    say(f"nothing to change: UpgradeConfig {_NAME} asks for that already{f', at {at}' if at else ''}")
    if at and "upgradeAt" not in wanted:
        say("hint: --at says another time")


def changes(found: UpgradeConfig, wanted: Spec) -> Spec:
    """The fields of the spec that have to change; an error where that cannot be."""
    import msgspec

    from shiplift.engine import versions

    if found.metadata.deletion_timestamp:
        raise CommandError(
            f"UpgradeConfig {_NAME} is being deleted", "wait until it is gone, then say it again"
        )
    before: Spec = msgspec.to_builtins(found.spec)
    kind, is_now = wanted.get("type"), found.spec.type.value
    if kind and kind != is_now:
        raise CommandError(
            f"UpgradeConfig {_NAME} is of type {is_now}, and stays so",
            f"kubectl delete upgradeconfig {_NAME}, then say it again",
        )
    same = versions.goal(found.spec.desired.version or "") == wanted["desired"]["version"]
    if same and found.spec.abort:
        raise CommandError(
            f"the upgrade to {wanted['desired']['version']} was aborted, and an abort cannot be withdrawn",
            f"kubectl delete upgradeconfig {_NAME}, then say it again",
        )
    changed = {key: value for key, value in wanted.items() if before.get(key) != value}
    if same:
        changed.pop("desired", None)
    return changed | ({"abort": False} if found.spec.abort else {})


def _shown(found: UpgradeConfig, changed: Spec) -> list[str]:
    """A line for each field, and what that means for an upgrade that runs."""
    import msgspec

    before: Spec = msgspec.to_builtins(found.spec)
    lines = [
        f"{name} of UpgradeConfig {_NAME}: {_word(before.get(name))} -> {_word(value)}"
        for name, value in changed.items()
    ]
    if found.status.target_version and "desired" in changed:
        lines.append(f"the upgrade to {found.status.target_version} runs: it is finished first")
    return [*lines, *_of_a_policy(found, changed)]


def _of_a_policy(found: UpgradeConfig, changed: Spec) -> list[str]:
    """What becomes of a version in an UpgradeConfig that came from a provider of policies."""
    from shiplift.api.marks import PROVIDER_LABEL

    provider = found.metadata.labels.get(PROVIDER_LABEL)
    if provider is None or "desired" not in changed:
        return []
    return [
        f"UpgradeConfig {_NAME} came from provider {provider}: where it has a policy, that is put back, and"
        f" where it has none, UpgradeConfig {_NAME} is deleted before the start, its history too",
        "hint: change the version at the provider, or set provider: Local in ConfigMap shiplift-config first",
    ]


def _word(value: Any) -> str:
    import msgspec

    if isinstance(value, dict) and "version" in value:
        return str(cast("Spec", value)["version"])
    if value is None or isinstance(value, str):
        return value or "nothing"
    return msgspec.json.encode(value).decode()


def _tell_how_it_goes(client: Client) -> None:
    import time

    from shiplift.cli.hearing import Ear

    for line in how_it_goes(Ear(client).surely(), int(time.time())):
        say(line)
