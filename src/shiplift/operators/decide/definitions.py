"""Definitions of custom resources serve all who go by them, whoever owns them: which of a version's would
change, whether that is safe, and what has to be stored anew before. Pure.

Kept true: every definition that would change is looked at before the first is changed, and what objects are
stored in does not go while they are.
"""

from __future__ import annotations

from shiplift.api.operators import CrdFinding, CrdRule
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION
from shiplift.operators.catalog import semver
from shiplift.operators.crds.definition import listed, served_by
from shiplift.operators.decide.case import LOOK_AGAIN, Case, more
from shiplift.operators.model import Checked, InstallView, Line, Live, Piece, Reason
from shiplift.operators.rows import actions_of, version_of
from shiplift.operators.steps import CheckCrd, StoreAnew


def breaking(case: Case) -> Line | None:
    """A definition serves all who go by it, whoever owns it."""
    for one in case.view.pieces:
        if not changes(case, one):
            continue
        served = {each.name for each in listed(one.manifest) if each.served}
        lost = [need for need in case.view.needed.get(one.name, ()) if need.version not in served]
        if lost:
            told = f"would not serve {lost[0].version} any more, which {lost[0].by} requires"
            return Line(Reason.OWNER_CONFLICT, f"{one} {told}{more(len(lost) - 1)}", due=LOOK_AGAIN)
    return None


def unchecked(case: Case) -> Line | None:
    """Every definition that would change is looked at before the first is changed."""
    changing = [one for one in case.view.pieces if changes(case, one)]
    checked = case.view.checked
    steps = tuple(_check(case, one) for one in changing if one.name not in checked or checked[one.name].old)
    for one in changing:
        if (said := checked.get(one.name)) and (why := _unsafe(one, said)):
            return Line(Reason.CRD_UNSAFE, why, steps=steps, due=LOOK_AGAIN)
    return Line(Reason.CHECKING_CRDS, steps[0].describe(), steps=steps) if steps else None


def stored_as_before(case: Case) -> Line | None:
    """Once nothing else speaks against the change: there is a way back until then, and none to a version that
    does not know how objects are stored now."""
    steps = tuple(
        StoreAnew(case.version.namespace, case.account, one.name, one.live.uid, one.live.storage, old)
        for one in case.view.pieces
        if changes(case, one) and one.live is not None and (old := _outgrown(one))
    )
    if not steps:
        return None
    return Line(Reason.STORING_ANEW, f"{steps[0].describe()}{more(len(steps) - 1)}", steps=steps)


def _outgrown(piece: Piece) -> tuple[str, ...]:
    """Versions that go and in which objects may be stored, where they need not be: the one in which they are
    stored now stays."""
    live, after = piece.live, {one.name for one in listed(piece.manifest)}
    if live is None or live.storage not in after:
        return ()
    return tuple(one for one in live.stored if one not in after)


def changes(case: Case, piece: Piece) -> bool:
    live = piece.live
    if piece.kind != CUSTOM_RESOURCE_DEFINITION or live is None or content_stays(case, piece):
        return False
    return not says_the_same(case, piece)


def content_stays(case: Case, piece: Piece) -> bool:
    """Who goes back keeps a definition that serves all that it knows: the newer one has what custom resources
    were given meanwhile, and fields that go would be lost from them."""
    live = piece.live
    if piece.kind != CUSTOM_RESOURCE_DEFINITION or live is None or not _goes_back(case):
        return False
    known = served_by(piece.manifest)
    return bool(known) and set(known) <= set(live.served)


def says_the_same(case: Case, piece: Piece) -> bool:
    """What it was made from; and of a definition, whether it still is what was made of that."""
    live = piece.live
    if live is None or live.manifest != piece.digest:
        return False
    return not live.altered or content_stays(case, piece)


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
    wrong = list(said.denied)
    if _outgrown(piece):
        wrong = [one for one in wrong if one.rule is not CrdRule.STORED_VERSION_REMOVAL]
    if not wrong:
        return ""
    first = wrong[0]
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    told = f"{first.crd} {first.path}: {first.rule}: {first.message}{more}"
    return f"{told}; spec.crdSafety of the AppType can allow it"


def findings(view: InstallView) -> tuple[CrdFinding, ...]:
    return tuple(one for said in view.checked.values() for one in said.findings)
