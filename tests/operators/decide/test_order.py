"""Whatever is there and whatever was found out: nothing is written out of order."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.hooks import JobState
from shiplift.api.operators import CrdFinding, CrdRule, RuleAction
from shiplift.facts.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT
from shiplift.operators.decide.install import installed
from shiplift.operators.model import Checked, InstallView, Job, Needed, Piece, Refused, Tried
from shiplift.operators.names import HOOKED, ORDER, UNTOUCHED
from shiplift.operators.steps import Begin, PutPiece, RemovePiece, RunHook, StopDeployment, StoreAnew
from tests.operators.decide.views import install_view, mine, piece, site, version

CRD = "boats.harbour.example"
OLD = version("1.0.0", 1, "", "Installed")
OTHER = version("9.0.0", 3)
HOOK = {"name": "backup", "serviceAccountName": "backups", "job": {}}
DENIED = CrdFinding(crd=CRD, rule=CrdRule.SCOPE, action=RuleAction.DENY, message="the scope changes")
OWNERS = st.sampled_from([None, OLD.uid, OTHER.uid, "uid-app.v1.1.0"])


@st.composite
def pieces(draw: st.DrawFn) -> list[Piece]:
    """A definition, a ConfigMap and a Deployment, there or not, of whoever it may be."""
    found: list[Piece] = []
    for kind, name in ((CUSTOM_RESOURCE_DEFINITION, CRD), (CONFIG_MAP, "settings"), (DEPLOYMENT, "app")):
        owner, digest = draw(OWNERS), draw(st.sampled_from(["old", "new"]))
        live: dict[str, Any] = {} if owner is None else {**mine(OLD, digest), "owner_uid": owner}
        if live and kind == CUSTOM_RESOURCE_DEFINITION:
            live |= {"stored": draw(st.sampled_from([("v1",), ("v1", "v2")])), "storage": "v2"}
        listed = [{"name": "v2", "served": True, "storage": True}]
        one = piece(kind, name, **live)
        found.append(msgspec.structs.replace(one, manifest={**one.manifest, "spec": {"versions": listed}}))
    return found


@st.composite
def views(draw: st.DrawFn) -> InstallView:
    notes = {ORDER: "2", **draw(st.sampled_from([{}, {UNTOUCHED: "true"}, {HOOKED: "job"}]))}
    spec = draw(st.sampled_from([{}, {"handOver": HOOK}]))
    new = version("1.1.0", 2, "1.0.0", spec=spec, notes=notes)
    refused = Tried((Refused("ConfigMap ops/settings", "may not"),))
    jobs = [None, *(Job(state) for state in JobState)]
    more = {
        "tried": draw(st.sampled_from([None, Tried(), refused])),
        "checked": draw(st.sampled_from([{}, {CRD: Checked()}, {CRD: Checked((DENIED,))}])),
        "job": draw(st.sampled_from(jobs)),
        "needed": draw(st.sampled_from([{}, {CRD: (Needed("v1", "ops/nets"),)}])),
        "alive": frozenset({OLD.uid, OTHER.uid, new.uid}),
    }
    return install_view(site(OLD, new), new, *draw(pieces()), **more)


WRITES = (PutPiece, StopDeployment, RemovePiece)


@given(views())
def test_nothing_is_written_before_its_time(view: InstallView) -> None:
    line, _ = installed(view)
    notes = view.version.annotations
    writes = [one for one in line.steps if isinstance(one, WRITES)]
    assert not writes or UNTOUCHED not in notes, "that something comes is on record before it does"
    hook = view.version.object.spec.hand_over
    assert not writes or hook is None or HOOKED in notes, "a hook comes before all that is taken over"
    assert not any(one.owner_uid == OTHER.uid for one in _lives(view)) or not line.steps, "others' is left"
    begins = [one for one in line.steps if isinstance(one, (Begin, RunHook, StoreAnew))]
    if (writes or begins) and _changes(view):
        assert view.checked.get(CRD) == Checked(), "a definition is looked at before anything changes"
        assert not view.needed, "and nobody loses what it goes by"
    if any(isinstance(one, Begin) for one in line.steps):
        assert view.tried == Tried() or not _untried(view), "an account is tried out first"


def _lives(view: InstallView) -> list[Any]:
    return [one.live for one in view.pieces if one.live is not None]


def _changes(view: InstallView) -> bool:
    crd = view.pieces[0].live
    return crd is not None and crd.manifest != "new"


def _untried(view: InstallView) -> bool:
    """Whether there is something to try out: anything but a definition that changes."""
    rest = view.pieces[1:] if _changes(view) else view.pieces
    mine = view.version.uid
    return any(one.live is None or (one.live.manifest, one.live.owner_uid) != ("new", mine) for one in rest)
