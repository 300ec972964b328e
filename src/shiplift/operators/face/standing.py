"""One operator at one moment: what it waits for, what is on its way, what would help. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.api.operators import AppType, OperatorVersion, RequirementState, RuleAction
from shiplift.operators.face.fleet import AppLine, app_line, said
from shiplift.operators.model import About, Reason
from shiplift.view.values import plain

HELP: dict[str, str] = {
    Reason.NEEDS_APPROVAL: "set spec.approved of the AppType to the version that may be installed",
    Reason.VETOED: "the operator itself says Upgradeable: False; it, or whoever set that, takes it back",
    Reason.OWNER_CONFLICT: "remove what is in the way; if it is no definition, another namespace helps too",
    Reason.CRD_UNSAFE: "change the objects that are named, or allow it in spec.crdSafety of the AppType",
    Reason.NO_ACCOUNT: "the command that is named lets the operator act as the account",
    Reason.NOT_ALLOWED: "give the AppType's ServiceAccount the right that is named, or do not install this",
    Reason.NO_CATALOG: "`kubectl get operatorcatalogs` shows which there are, and whether they were read",
    Reason.NO_CHANNEL: "set spec.channel of the AppType to one that is named",
    Reason.NO_VERSION: "set spec.version of the AppType to one that `shiplift catalog list` shows",
    Reason.NOT_HERE: "take another channel or pin; `shiplift catalog list` shows which there are",
    Reason.UNREADABLE: "put right what is wrong with it: `kubectl get operatorcatalogs -o wide` says what",
    Reason.NO_WAY: "`shiplift catalog why` says more; spec.version of the AppType leads elsewhere",
    Reason.AMBIGUOUS_PROVIDER: "make an AppType of the package that is meant",
    Reason.NO_PROVIDER: "add a catalog that has the package, or make the definition by hand",
    Reason.NAME_TAKEN: "delete one of the two AppTypes",
    Reason.PAUSED: "set spec.paused of the AppType to false",
    Reason.TURN: "wait: the upgrade of the cluster lets it go; `shiplift status` shows how far that is",
    Reason.ORPHANED: "make its AppType again; or delete the OperatorVersion, and take our finalizer off it",
    Reason.NO_PAYLOAD: "`shiplift catalog import` of the folder of the bundle brings its manifests",
    Reason.NOT_INSTALLABLE: "pin another version in spec.version of the AppType",
    Reason.HOOK_FAILED: "look at the Job that is named; once it is deleted, it runs again",
    Reason.REFUSED: "change what the API server or a webhook objects to, or pin another version",
    Reason.WRONG_CONTENT: "take a catalog whose definition is the one that the version pins",
}
"""What a person can do about a reason: for each that needs somebody, and some more."""


class VersionLine(msgspec.Struct, frozen=True):
    """One version that is there."""

    name: str
    phase: str
    message: str
    deployments: str
    adopted: str
    missing: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


class Standing(msgspec.Struct, frozen=True):
    """One AppType with its versions."""

    line: AppLine
    catalog: str
    path: tuple[str, ...]
    blocked: tuple[str, ...]
    said: tuple[tuple[str, str, str], ...]
    """Condition, reason and message, of those that do not hold."""
    versions: tuple[VersionLine, ...]
    helps: tuple[str, ...]


def standing(app: AppType, versions: Sequence[OperatorVersion]) -> Standing:
    own = [one for one in versions if one.spec.app_type == app.metadata.name]
    mine = sorted(own, key=lambda one: one.metadata.name)
    conditions = [
        one for one in app.status.conditions if one.status.value != "True" and one.type in tuple(About)
    ]
    return Standing(
        line=app_line(app),
        catalog=app.status.catalog or "",
        path=tuple(f"{one.version}" for one in app.status.path),
        blocked=tuple(plain(one) for one in app.status.blocked_by),
        said=tuple((one.type, one.reason, plain(one.message)) for one in conditions),
        versions=tuple(_version(one) for one in mine),
        helps=tuple(_helps(app, mine)),
    )


def _version(one: OperatorVersion) -> VersionLine:
    status = one.status
    missing = [each for each in status.requirements if each.state is not RequirementState.MET]
    return VersionLine(
        name=one.metadata.name,
        phase=status.phase.value if status.phase else "New",
        message=plain(status.message),
        deployments=status.deployments.summary,
        adopted=status.adopted.summary,
        missing=tuple(plain(f"{each.kind} {each.name}: {each.message}") for each in missing),
        findings=tuple(
            plain(f"{each.crd} {each.path}: {each.rule}: {each.message}")
            for each in status.crd_findings
            if each.action is RuleAction.DENY
        ),
        leftovers=tuple(plain(each) for each in status.leftovers),
    )


def _helps(app: AppType, versions: Sequence[OperatorVersion]) -> Iterable[str]:
    reasons = [
        one.reason
        for conditions in (app.status.conditions, *(each.status.conditions for each in versions))
        for one in conditions
        if one.status.value == "False"
    ]
    yield from dict.fromkeys(HELP[one] for one in reasons if one in HELP)
    if said(app.status.conditions, "Ready") is None:
        yield "no operator with the layer operators has looked at it yet; `shiplift operator` runs one"
