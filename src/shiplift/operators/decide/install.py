"""The install loop: an ordered tuple of gates, and behind them the objects of a version in the order of need.

Kept true: nothing is written before every requirement is met and every change of a definition was looked at;
what belongs to somebody else is never taken; two versions of an operator never act at once; and nothing is
terminal: each look begins anew from what is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from shiplift.api.operators import (
    CrdFinding,
    CrdRule,
    OperatorDeployment,
    RequirementKind,
    RequirementStatus,
    RuleAction,
)
from shiplift.engine.conditions import Status as Holds
from shiplift.engine.step import Step
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    OPERATOR_VERSION,
    POD,
    SERVICE_ACCOUNT,
)
from shiplift.facts.workloads import Deployment
from shiplift.operators.catalog import semver
from shiplift.operators.crds.definition import listed, served_by
from shiplift.operators.decide import hooking, lineage, requirements
from shiplift.operators.decide.former import Former, former, names_of
from shiplift.operators.handing.ownership import OWNER_UID
from shiplift.operators.model import (
    About,
    Checked,
    InstallView,
    Line,
    Live,
    Piece,
    Reason,
    actions_of,
    app_of,
    denies,
    has_run,
    holds,
    is_paused,
    is_untouched,
    order_of,
    owner_of,
    version_of,
)
from shiplift.operators.names import FINALIZER, RIGHTS, UPGRADEABLE
from shiplift.operators.steps import (
    Begin,
    CheckCrd,
    NoteOrder,
    PutPiece,
    RemovePiece,
    Right,
    SetFinalizer,
    StopDeployment,
    StoreAnew,
    TryOut,
)

_LOOK_AGAIN = timedelta(seconds=15)
"""While something is waited for that no event may announce."""
_ENDING = timedelta(seconds=1)
"""While pods end: nobody watches them."""
_VERIFY = timedelta(minutes=5)
"""So often what is installed is looked at once more."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One version at one moment."""

    view: InstallView
    required: tuple[RequirementStatus, ...]
    before: tuple[Custom, ...]
    """The versions that it takes over from."""

    @property
    def version(self) -> Custom:
        return self.view.version

    @property
    def account(self) -> str:
        app = self.view.site.app
        return app_of(app).spec.service_account_name if app is not None else ""

    @property
    def deployments(self) -> list[Piece]:
        return [one for one in self.view.pieces if one.kind == DEPLOYMENT]


Gate = Callable[[Case], Line | None]


def installed(view: InstallView) -> tuple[Line, Case]:
    """What is done for the installation, or waited for."""
    before = lineage.predecessors(view.site, view.version)
    case = Case(view=view, required=requirements.requirements(view), before=before)
    line = next((line for gate in GATES if (line := gate(case)) is not None), None) or _all_there(case)
    if line.reason in (Reason.WAITING_FOR_PODS, Reason.INSTALLED):
        line = line._replace(steps=(*_started_again(case), *line.steps))
    return line, case


def _orphaned(case: Case) -> Line | None:
    if case.view.site.app is not None:
        return None
    name = version_of(case.version).spec.app_type
    return Line(Reason.ORPHANED, f"AppType {case.version.namespace}/{name} is not there")


def _going(case: Case) -> Line | None:
    if not case.version.deleting and not case.view.site.going:
        return None
    return Line(Reason.REMOVING, "it is going")


def _untaken(case: Case) -> Line | None:
    """Our finalizer comes before anything that it would have to be held for, and so does the number by which
    versions are told apart; whoever took either off finds it there again."""
    one = case.version
    step: Step | None = None
    if FINALIZER not in one.finalizers:
        step = SetFinalizer(OPERATOR_VERSION, one.namespace, one.name, one.uid, present=True)
    elif not order_of(one):
        number = lineage.number(case.view.site, one)
        step = NoteOrder(one.namespace, one.name, one.uid, number)
    if step is None:
        return None
    stands = Holds.TRUE if holds(one, About.INSTALLED) else Holds.FALSE
    return Line(Reason.INSTALLING, step.describe(), stands, steps=(step,))


def _being_replaced(case: Case) -> Line | None:
    """It is no longer judged: what the next version changes must not make it fail. As long as that has not
    begun, for want of something perhaps, this one is what runs, and is kept so."""
    following = lineage.heir(case.view.site, case.version)
    if following is None:
        return None
    runs = holds(case.version, About.INSTALLED)
    if is_untouched(following) and (runs or has_run(case.version)):
        return None
    stands = Holds.TRUE if runs else Holds.FALSE
    return Line(Reason.BEING_REPLACED, f"{following.name} takes over from it", stands)


def _paused(case: Case) -> Line | None:
    """What is installed stays as it is."""
    app = case.view.site.app
    if app is None or not is_paused(app):
        return None
    stands = Holds.TRUE if holds(case.version, About.INSTALLED) else Holds.FALSE
    return Line(Reason.PAUSED, "its AppType is paused, or held by the upgrade of the cluster", stands)


def _vetoed(case: Case) -> Line | None:
    """Until the new version has begun; then there is no way back but a pin."""
    if _has_begun(case):
        return None
    for one in case.before:
        veto = None if one.deleting else denies(one, UPGRADEABLE)
        if veto is not None:
            return Line(Reason.VETOED, f"{one.name} must not be replaced now: {veto}")
    return None


def _has_begun(case: Case) -> bool:
    return any(one.live is not None and one.live.owner_uid == case.version.uid for one in case.view.pieces)


def _troubled(case: Case) -> Line | None:
    trouble = case.view.trouble
    if trouble is None:
        return None
    if trouble.reason is Reason.NO_PAYLOAD and (
        holds(case.version, About.INSTALLED) or has_run(case.version)
    ):
        return _uncompared(case, trouble.message)
    return Line(trouble.reason, trouble.message, due=_LOOK_AGAIN)


def _uncompared(case: Case, why: str) -> Line:
    """All of it was put when it ran; whether it still runs its Deployments say."""
    down = [
        one.name for one in version_of(case.version).spec.install_strategy.deployments if not _runs(case, one)
    ]
    if down:
        told = f"Deployment {down[0]} is not available{_more(len(down) - 1)}, and cannot be put right: {why}"
        return Line(Reason.NO_PAYLOAD, told, due=_LOOK_AGAIN)
    told = f"it runs; it is not compared with its manifests: {why}"
    return Line(Reason.INSTALLED, told, Holds.TRUE, due=_VERIFY)


def _runs(case: Case, one: OperatorDeployment) -> bool:
    """What is there of that name, where it is no other version's."""
    row = case.view.deployments.get(one.name)
    mine = row is not None and row.annotations.get(OWNER_UID, case.version.uid) == case.version.uid
    return row is not None and mine and _is_up(row, _replicas(one.spec))


def _required(case: Case) -> Line | None:
    missing = [one for one in requirements.unmet(case.required) if one.kind is not RequirementKind.PERMISSION]
    if not missing:
        return None
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    told = f"{missing[0].kind} {missing[0].name}: {missing[0].message}{more}"
    return Line(Reason.REQUIREMENTS_NOT_MET, told, due=_LOOK_AGAIN)


def _conflicting(case: Case) -> Line | None:
    for one in case.view.pieces:
        if why := _conflict(case, one):
            return Line(Reason.OWNER_CONFLICT, f"{one} {why}", due=_LOOK_AGAIN)
    return None


def _conflict(case: Case, piece: Piece) -> str:
    """Why an object that is there is not ours to change; empty where it is."""
    live = piece.live
    if live is None or _is_used(piece):
        return ""
    ours = {case.version.uid, *(one.uid for one in case.before)}
    if live.owner_uid and live.owner_uid not in ours and live.owner_uid in case.view.alive:
        return f"belongs to {live.bundle or 'another OperatorVersion'}"
    free = live.owner_uid or live.bundle or piece.kind == CUSTOM_RESOURCE_DEFINITION
    if free or _was_ours(case, piece):
        return ""
    return "is there, and was not made by us: remove it, or install elsewhere"


def _was_ours(case: Case, piece: Piece) -> bool:
    """All that a version consists of was its own when it ran: somebody has taken our marks off, or replaced
    the object whole."""
    by_name = piece.kind == DEPLOYMENT and any(piece.name in names_of(one) for one in case.before)
    return has_run(case.version) or by_name


def _is_used(piece: Piece) -> bool:
    """A ServiceAccount that somebody made is used as it is."""
    live = piece.live
    return piece.kind == SERVICE_ACCOUNT and live is not None and not (live.owner_uid or live.bundle)


def _breaking(case: Case) -> Line | None:
    """A definition serves all who go by it, whoever owns it."""
    for one in case.view.pieces:
        if not _changes_definition(case, one):
            continue
        served = {each.name for each in listed(one.manifest) if each.served}
        lost = [need for need in case.view.needed.get(one.name, ()) if need.version not in served]
        if lost:
            told = f"would not serve {lost[0].version} any more, which {lost[0].by} requires"
            return Line(Reason.OWNER_CONFLICT, f"{one} {told}{_more(len(lost) - 1)}", due=_LOOK_AGAIN)
    return None


def _untried(case: Case) -> Line | None:
    """Before the first object of a version comes, the API server is asked about all of them: what an account
    may not do, and what nobody accepts, is known before anything was changed."""
    if not is_untouched(case.version):
        return None
    tried, steps = case.view.tried, _trials(case)
    if not steps:
        return None
    if tried is None:
        return Line(Reason.CHECKING_RIGHTS, steps[0].describe(), steps=steps)
    if not tried.refused:
        return None
    first = tried.refused[0]
    told = f"{first.what}: {first.why}{_more(len(tried.refused) - 1)}"
    reason = Reason.NOT_ALLOWED if first.forbidden else Reason.REFUSED
    return Line(reason, told, steps=steps if tried.old else (), due=_LOOK_AGAIN)


def _trials(case: Case) -> tuple[TryOut, ...]:
    one = case.version
    puts = tuple(_puts(case, (each for each in case.view.pieces if _can_be_tried(case, each))))
    token = trial_token(case.view.pieces, case.view.site.app)
    step = TryOut(one.namespace, case.account, one.name, one.uid, token, puts, tuple(_rights(case)))
    return (step,) if puts else ()


def _rights(case: Case) -> Iterator[Right]:
    """What is needed once the old version has been stopped: that it lacks must not be found out then."""
    for kind in sorted(case.view.inherits):
        where = case.version.namespace if kind.namespaced else ""
        yield Right("list", kind, where)
        yield Right("patch", kind, where)
        if kind == DEPLOYMENT or kind.kind in RIGHTS:
            yield Right("delete", kind, where)
    if any(True for _ in _others(case)):
        yield Right("list", POD, case.version.namespace)


def _can_be_tried(case: Case, piece: Piece) -> bool:
    """Not a Deployment that has to be made anew, nor a definition that changes: it is looked at by itself."""
    return not _changes_definition(case, piece) and not (piece.live is not None and piece.live.other_selector)


def trial_token(pieces: Iterable[Piece], app: Custom | None) -> str:
    """What is tried, and as whom."""
    account = app_of(app).spec.service_account_name if app is not None else ""
    text = " ".join([account, *(f"{one.digest}{one.live.uid if one.live else ''}" for one in pieces)])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _unchecked(case: Case) -> Line | None:
    """Every definition that would change is looked at before the first is changed."""
    changing = [one for one in case.view.pieces if _changes_definition(case, one)]
    checked = case.view.checked
    steps = tuple(_check(case, one) for one in changing if one.name not in checked or checked[one.name].old)
    for one in changing:
        if (said := checked.get(one.name)) and (why := _unsafe(one, said)):
            return Line(Reason.CRD_UNSAFE, why, steps=steps, due=_LOOK_AGAIN)
    return Line(Reason.CHECKING_CRDS, steps[0].describe(), steps=steps) if steps else None


def _stored_as_before(case: Case) -> Line | None:
    """Once nothing else speaks against the change: there is a way back until then, and none to a version that
    does not know how objects are stored now."""
    steps = tuple(
        StoreAnew(case.version.namespace, case.account, one.name, one.live.uid, one.live.storage, old)
        for one in case.view.pieces
        if _changes_definition(case, one) and one.live is not None and (old := outgrown(one))
    )
    if not steps:
        return None
    return Line(Reason.STORING_ANEW, f"{steps[0].describe()}{_more(len(steps) - 1)}", steps=steps)


def outgrown(piece: Piece) -> tuple[str, ...]:
    """Versions that go and in which objects may be stored, where they need not be: the one in which they are
    stored now stays."""
    live, after = piece.live, {one.name for one in listed(piece.manifest)}
    if live is None or live.storage not in after:
        return ()
    return tuple(one for one in live.stored if one not in after)


def _changes_definition(case: Case, piece: Piece) -> bool:
    live = piece.live
    if piece.kind != CUSTOM_RESOURCE_DEFINITION or live is None or _content_stays(case, piece):
        return False
    return not _says_the_same(case, piece)


def _content_stays(case: Case, piece: Piece) -> bool:
    """Who goes back keeps a definition that serves all that it knows: the newer one has what custom resources
    were given meanwhile, and fields that go would be lost from them."""
    live = piece.live
    if piece.kind != CUSTOM_RESOURCE_DEFINITION or live is None or not _goes_back(case):
        return False
    known = served_by(piece.manifest)
    return bool(known) and set(known) <= set(live.served)


def _goes_back(case: Case) -> bool:
    """To a lower version than all that it takes over from."""
    mine = _number(case.version)
    others = [_number(one) for one in case.before]
    return mine is not None and bool(others) and all(one is not None and mine < one for one in others)


def _number(one: Custom) -> semver.Version | None:
    try:
        return semver.parse(version_of(one).spec.version.removeprefix("v"))
    except semver.SemverError:
        return None


def check_token(piece: Piece, app: Custom | None) -> str:
    """What a check compares, by which rules: the definition as it is, and as it would be."""
    live, rules = piece.live or Live("", ""), sorted(actions_of(app).items())
    told = " ".join(f"{rule}={action}" for rule, action in rules)
    return f"{live.uid} {live.generation} {'+'.join(live.stored)} {piece.digest[:24]} {told}".strip()


def _check(case: Case, piece: Piece) -> CheckCrd:
    app = case.view.site.app
    return CheckCrd(
        namespace=case.version.namespace,
        account=case.account,
        crd=piece.name,
        token=check_token(piece, app),
        manifest=dict(piece.manifest),
        actions={rule.value: action.value for rule, action in actions_of(app).items()},
    )


def _unsafe(piece: Piece, said: Checked) -> str:
    """What keeps a definition from being changed; empty where nothing does."""
    if said.trouble:
        return f"{piece.name} cannot be checked: {said.trouble}"
    wrong = [one for one in said.findings if one.action is RuleAction.DENY]
    if outgrown(piece):
        wrong = [one for one in wrong if one.rule is not CrdRule.STORED_VERSION_REMOVAL]
    if not wrong:
        return ""
    first = wrong[0]
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    told = f"{first.crd} {first.path}: {first.rule}: {first.message}{more}"
    return f"{told}; spec.crdSafety of the AppType can allow it"


def findings(view: InstallView) -> tuple[CrdFinding, ...]:
    return tuple(one for said in view.checked.values() for one in said.findings)


def _unbegun(case: Case) -> Line | None:
    """That something comes is on record before it does."""
    one = case.version
    if not is_untouched(one):
        return None
    step = Begin(one.namespace, one.name, one.uid)
    return Line(Reason.INSTALLING, step.describe(), steps=(step,))


def _hooked(case: Case) -> Line | None:
    app = case.view.site.app
    return hooking.waited_for(case.version, app, case.before, case.view.job) if app is not None else None


def _before_deployments(case: Case) -> Line | None:
    """Definitions first, then all that Deployments need."""
    crds = [one for one in case.view.pieces if one.kind == CUSTOM_RESOURCE_DEFINITION]
    rest = [one for one in case.view.pieces if one.kind not in (CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT)]
    for pieces in (crds, rest):
        steps = tuple(_puts(case, pieces))
        if steps:
            return Line(Reason.INSTALLING, f"{steps[0].describe()}{_more(len(steps) - 1)}", steps=steps)
    return None


def _puts(case: Case, pieces: Iterable[Piece]) -> Iterator[PutPiece]:
    for one in pieces:
        if not _is_put(case, one):
            yield _put(case, one)


def _is_put(case: Case, piece: Piece) -> bool:
    live = piece.live
    if live is None:
        return False
    same = _says_the_same(case, piece) and live.owner_uid == case.version.uid and live.labelled
    return (same and not live.leaving) or _is_used(piece)


def _says_the_same(case: Case, piece: Piece) -> bool:
    """What it was made from; and of a definition, whether it still is what was made of that."""
    live = piece.live
    if live is None or live.manifest != piece.digest:
        return False
    return not live.altered or _content_stays(case, piece)


def _put(case: Case, piece: Piece) -> PutPiece:
    return PutPiece(
        namespace=case.version.namespace,
        account=case.account,
        kind=piece.kind,
        where=piece.namespace,
        name=piece.name,
        manifest=piece.manifest,
        digest=piece.digest,
        owner=owner_of(case.version),
        before=tuple(owner_of(one) for one in case.before),
        uid=piece.live.uid if piece.live is not None else "",
        seen_owner=piece.live.owner_uid if piece.live is not None else "",
        seen_generation=piece.live.generation if piece.live is not None else 0,
        content_stays=_content_stays(case, piece),
    )


def _old_acts(case: Case) -> Line | None:
    """What runs of the old version under another name, or for other pods, ends before the new one begins."""
    if all(_is_put(case, one) for one in case.deployments):
        return None
    steps: list[Step] = []
    waiting: list[str] = []
    for one, live in _others(case):
        row = one.row
        if row.replicas or not one.is_marked:
            steps.append(_stop(case, one))
        elif row.current_replicas or row.observed_generation < row.generation or row.name in case.view.ending:
            waiting.append(row.name)
        elif live is not None:
            steps.append(_remove(case, one, live))
    if not steps and not waiting:
        return _not_seen(case)
    told = steps[0].describe() if steps else f"pods of Deployment {waiting[0]} end first"
    return Line(Reason.STOPPING_OLD, told, steps=tuple(steps), due=_ENDING)


def _not_seen(case: Case) -> Line | None:
    """What a late watch has not brought is no less at work."""
    own = {one.name for one in case.deployments if one.live is not None and not one.live.other_selector}
    unseen = [(name, of) for name, of in case.view.unseen.items() if name not in own]
    if not unseen:
        return None
    name, of = unseen[0]
    told = f"Deployment {case.version.namespace}/{name} of {of} is there, and was not seen yet"
    return Line(Reason.STALE_VIEW, told, due=_ENDING)


def _started_again(case: Case) -> Iterator[Step]:
    """What ran of the old version and somebody has scaled up, or taken our marks off, once the new one is
    there: it is removed when all is handed over, and must not act until then."""
    return (_stop(case, one) for one, _ in _others(case) if one.row.replicas or not one.is_marked)


def _others(case: Case) -> Iterator[tuple[Former, Live | None]]:
    """Deployments of the old version that do not become those of the new one; with what is there of a piece
    of that name."""
    replaced = {one.name: one.live for one in case.deployments if one.live is not None}
    for one in former(case.before, case.view.deployments.values()):
        live = replaced.get(one.row.name)
        if live is None or live.other_selector:
            yield one, live


def _stop(case: Case, one: Former) -> StopDeployment:
    owner = owner_of(one.of)
    return StopDeployment(case.version.namespace, case.account, one.row.name, one.row.uid, one.of.name, owner)


def _remove(case: Case, one: Former, live: Live) -> RemovePiece:
    """It is made anew: what it selects cannot be changed."""
    return RemovePiece(
        namespace=case.version.namespace,
        account=case.account,
        kind=DEPLOYMENT,
        where=one.row.namespace,
        name=one.row.name,
        uid=live.uid,
        version=live.version,
        owner=owner_of(one.of),
    )


def _deployed(case: Case) -> Line | None:
    steps = tuple(_puts(case, case.deployments))
    if not steps:
        return None
    return Line(Reason.INSTALLING, f"{steps[0].describe()}{_more(len(steps) - 1)}", steps=steps)


def _available(case: Case) -> Line | None:
    waiting = [one.name for one in case.deployments if not is_available(case, one)]
    if not waiting:
        return None
    row = case.view.deployments.get(waiting[0])
    why = "is scaled to 0 by somebody" if row is not None and row.replicas == 0 else "is not available"
    told = f"Deployment {waiting[0]} {why}{_more(len(waiting) - 1)}"
    failing = [one.message for one in row.conditions if one.type == "ReplicaFailure"] if row else []
    return Line(Reason.WAITING_FOR_PODS, f"{told}: {failing[0]}" if failing else told, due=_LOOK_AGAIN)


def is_available(case: Case, piece: Piece) -> bool:
    """As the controller of Deployments says of what we have put there."""
    row = case.view.deployments.get(piece.name)
    if row is None or piece.live is None or row.uid != piece.live.uid:
        return False
    shown = row.observed_generation >= piece.live.generation
    return shown and _is_up(row, _replicas(piece.manifest.get("spec") or {}))


def _is_up(row: Deployment, wanted: int) -> bool:
    seen = row.observed_generation >= row.generation
    updated = row.updated_replicas == row.current_replicas == row.replicas
    runs = row.replicas > 0 or wanted == 0
    return runs and seen and updated and row.available_replicas >= row.replicas


def _replicas(spec: Mapping[str, Any]) -> int:
    """One where it does not say: who has scaled it to none has stopped it."""
    found = spec.get("replicas")
    return 1 if found is None else int(found)


def _all_there(case: Case) -> Line:
    count = len(case.view.pieces)
    return Line(Reason.INSTALLED, f"{count} objects are there, and it runs", Holds.TRUE, due=_VERIFY)


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


GATES: tuple[Gate, ...] = (
    _going,
    _orphaned,
    _untaken,
    _being_replaced,
    _paused,
    _troubled,
    _vetoed,
    _required,
    _conflicting,
    _breaking,
    _untried,
    _unchecked,
    _hooked,
    _stored_as_before,
    _unbegun,
    _before_deployments,
    _old_acts,
    _deployed,
    _available,
)
"""Why a version is not installed yet, in order; the first that has something to say is told."""
