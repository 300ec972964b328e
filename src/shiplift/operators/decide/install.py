"""The install loop: an ordered tuple of gates, and behind them the objects of a version in the order of need.

Kept true: nothing is written before every requirement is met and every change of a definition was looked at;
what belongs to somebody else is never taken; two versions of an operator never act at once; and nothing is
terminal: each look begins anew from what is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from shiplift.api.operators import (
    OperatorDeployment,
    RequirementKind,
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
from shiplift.operators.decide import definitions, hooking, lineage, requirements
from shiplift.operators.decide.case import LOOK_AGAIN, Case, Gate, more
from shiplift.operators.decide.former import Former, former, names_of
from shiplift.operators.handing.ownership import OWNER_UID
from shiplift.operators.model import About, InstallView, Line, Live, Piece, Reason
from shiplift.operators.names import FINALIZER, RIGHTS, UPGRADEABLE
from shiplift.operators.rows import (
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
from shiplift.operators.steps import (
    Begin,
    NoteOrder,
    PutPiece,
    RemovePiece,
    Right,
    SetFinalizer,
    StopDeployment,
    TryOut,
)

_ENDING = timedelta(seconds=1)
"""While pods end: nobody watches them."""
_VERIFY = timedelta(minutes=5)
"""So often what is installed is looked at once more."""


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
    return Line(trouble.reason, trouble.message, due=LOOK_AGAIN)


def _uncompared(case: Case, why: str) -> Line:
    """All of it was put when it ran; whether it still runs its Deployments say."""
    down = [
        one.name for one in version_of(case.version).spec.install_strategy.deployments if not _runs(case, one)
    ]
    if down:
        told = f"Deployment {down[0]} is not available{more(len(down) - 1)}, and cannot be put right: {why}"
        return Line(Reason.NO_PAYLOAD, told, due=LOOK_AGAIN)
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
    return Line(Reason.REQUIREMENTS_NOT_MET, told, due=LOOK_AGAIN)


def _conflicting(case: Case) -> Line | None:
    for one in case.view.pieces:
        if why := _conflict(case, one):
            return Line(Reason.OWNER_CONFLICT, f"{one} {why}", due=LOOK_AGAIN)
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
    told = f"{first.what}: {first.why}{more(len(tried.refused) - 1)}"
    reason = Reason.NOT_ALLOWED if first.forbidden else Reason.REFUSED
    return Line(reason, told, steps=steps if tried.old else (), due=LOOK_AGAIN)


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
    return not definitions.changes(case, piece) and not (piece.live is not None and piece.live.other_selector)


def trial_token(pieces: Iterable[Piece], app: Custom | None) -> str:
    """What is tried, and as whom."""
    account = app_of(app).spec.service_account_name if app is not None else ""
    text = " ".join([account, *(f"{one.digest}{one.live.uid if one.live else ''}" for one in pieces)])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
            return Line(Reason.INSTALLING, f"{steps[0].describe()}{more(len(steps) - 1)}", steps=steps)
    return None


def _puts(case: Case, pieces: Iterable[Piece]) -> Iterator[PutPiece]:
    for one in pieces:
        if not _is_put(case, one):
            yield _put(case, one)


def _is_put(case: Case, piece: Piece) -> bool:
    live = piece.live
    if live is None:
        return False
    same = definitions.says_the_same(case, piece) and live.owner_uid == case.version.uid and live.labelled
    return (same and not live.leaving) or _is_used(piece)


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
        content_stays=definitions.content_stays(case, piece),
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
    return Line(Reason.INSTALLING, f"{steps[0].describe()}{more(len(steps) - 1)}", steps=steps)


def _available(case: Case) -> Line | None:
    waiting = [one.name for one in case.deployments if not is_available(case, one)]
    if not waiting:
        return None
    row = case.view.deployments.get(waiting[0])
    why = "is scaled to 0 by somebody" if row is not None and row.replicas == 0 else "is not available"
    told = f"Deployment {waiting[0]} {why}{more(len(waiting) - 1)}"
    failing = [one.message for one in row.conditions if one.type == "ReplicaFailure"] if row else []
    return Line(Reason.WAITING_FOR_PODS, f"{told}: {failing[0]}" if failing else told, due=LOOK_AGAIN)


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
    definitions.breaking,
    _untried,
    definitions.unchecked,
    _hooked,
    definitions.stored_as_before,
    _unbegun,
    _before_deployments,
    _old_acts,
    _deployed,
    _available,
)
"""Why a version is not installed yet, in order; the first that has something to say is told."""
