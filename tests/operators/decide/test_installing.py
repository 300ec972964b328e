"""Why a version is not installed yet, and what is written in which order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.operators import CrdFinding, CrdRule, RequirementKind, RuleAction
from shiplift.engine.conditions import Status as Holds
from shiplift.engine.contested import Memory
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SERVICE_ACCOUNT
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.pods import PodSpec
from shiplift.facts.workloads import Deployment
from shiplift.operators.decide.decision import decide
from shiplift.operators.decide.definitions import check_token
from shiplift.operators.decide.install import installed
from shiplift.operators.handing.ownership import OWNER, OWNER_UID
from shiplift.operators.model import (
    Checked,
    InstallView,
    Line,
    Live,
    Loop,
    Needed,
    Piece,
    Reason,
    Refused,
    Site,
    Tried,
    Trouble,
)
from shiplift.operators.names import BUNDLE, ORDER, UNTOUCHED
from shiplift.operators.rows import owner_of
from shiplift.operators.steps import (
    Begin,
    CheckCrd,
    NoteOrder,
    PutPiece,
    RemovePiece,
    SetFinalizer,
    StopDeployment,
    StoreAnew,
    TryOut,
)
from tests.operators.decide.views import NOW, SPACE, app, install_view, mine, piece, site, version

NEW = version("1.0.0")
CRD = "boats.harbour.example"


def said(view: InstallView) -> Line:
    return installed(view)[0]


def deployment(of: Custom, name: str = "app", **more: Any) -> Deployment:
    """As the controller of Deployments tells it, all well unless it is said otherwise."""
    usual = {
        "replicas": 1,
        "current_replicas": 1,
        "updated_replicas": 1,
        "available_replicas": 1,
        "ready_replicas": 1,
    }
    return Deployment(
        namespace=SPACE,
        name=name,
        uid=f"uid-{name}",
        resource_version=7,
        generation=2,
        created=1,
        deleting=0,
        labels=Labels({OWNER: owner_of(of).label}),
        annotations=Labels({OWNER_UID: of.uid, BUNDLE: of.name}),
        owners=(),
        finalizers=(),
        selector=None,
        template=PodSpec(),
        template_labels=NO_LABELS,
        observed_generation=2,
        min_ready_seconds=0,
        paused=False,
        strategy="RollingUpdate",
        max_unavailable=None,
        max_surge=None,
        progress_deadline=600,
        terminating_replicas=0,
        conditions=(),
        **{**usual, **more},
    )


def view(*pieces: Any, where: Site | None = None, of: Custom = NEW, **more: Any) -> InstallView:
    return install_view(where or site(of), of, *pieces, **more)


def test_definitions_come_first_then_the_rest_then_deployments() -> None:
    crd, other, runs = piece(CUSTOM_RESOURCE_DEFINITION, CRD), piece(), piece(DEPLOYMENT, "app")
    order: list[list[str]] = []
    there: list[Any] = []
    for each in (crd, other, runs):
        steps = said(
            view(*there, *[one for one in (crd, other, runs) if one.name not in {x.name for x in there}])
        ).steps
        order.append([one.name for one in steps if isinstance(one, PutPiece)])
        there.append(piece(each.kind, each.name, **mine(NEW, generation=2)))
    assert order == [[CRD], ["settings"], ["app"]]
    done = said(view(*there, deployments={"app": deployment(NEW)}))
    assert (done.reason, done.holds, done.steps) == (Reason.INSTALLED, Holds.TRUE, ())


@pytest.mark.parametrize("wanted", [1, 0])
def test_what_somebody_scaled_to_none_is_not_told_as_running(wanted: int) -> None:
    none = {"replicas": 0, "available_replicas": 0, "updated_replicas": 0, "current_replicas": 0}
    row = msgspec.structs.replace(deployment(NEW), **none)
    there = piece(DEPLOYMENT, "app", **mine(NEW, generation=2))
    there = msgspec.structs.replace(there, manifest={**there.manifest, "spec": {"replicas": wanted}})
    line = said(view(there, deployments={"app": row}))
    if wanted:
        assert line.reason is Reason.WAITING_FOR_PODS
        assert "Deployment app is scaled to 0 by somebody" in line.message
    else:
        assert line.reason is Reason.INSTALLED


@pytest.mark.parametrize(
    "behind",
    [
        {"available_replicas": 0},
        {"updated_replicas": 0},
        {"current_replicas": 2},
        {"uid": "uid-another"},
        {"observed_generation": 1},
    ],
)
def test_it_is_installed_when_its_deployments_are_available(behind: dict[str, Any]) -> None:
    row = deployment(NEW)
    row = msgspec.structs.replace(row, **behind)
    there = piece(DEPLOYMENT, "app", **mine(NEW, generation=2))
    assert said(view(there, deployments={"app": row})).reason is Reason.WAITING_FOR_PODS


def test_what_belongs_to_another_version_that_lives_is_not_touched() -> None:
    other = version("9.0.0", spec={"appType": "other"})
    taken = piece(CUSTOM_RESOURCE_DEFINITION, CRD, **mine(other))
    line = said(view(taken, alive=frozenset({NEW.uid, other.uid})))
    assert line.reason is Reason.OWNER_CONFLICT
    assert line.steps == ()
    freed = said(view(taken, alive=frozenset({NEW.uid}), checked={CRD: Checked()}))
    assert [type(one) for one in freed.steps] == [PutPiece], "who owned it is gone"


def test_what_somebody_made_is_not_taken_but_an_account_is_used() -> None:
    assert said(view(piece(CONFIG_MAP, uid="u"))).reason is Reason.OWNER_CONFLICT
    used = said(view(piece(SERVICE_ACCOUNT, "app-operator", uid="u")))
    assert used.reason is Reason.INSTALLED
    again = said(view(piece(CONFIG_MAP, bundle="app.v0.9.0")))
    assert [type(one) for one in again.steps] == [PutPiece], "it was ours, and was left when we went"


def test_a_definition_is_looked_at_before_anything_is_written() -> None:
    crd = piece(CUSTOM_RESOURCE_DEFINITION, CRD, uid="u", manifest="old")
    line = said(view(crd, piece()))
    assert [type(one) for one in line.steps] == [CheckCrd]
    bad = CrdFinding(crd=CRD, rule=CrdRule.SCOPE, action=RuleAction.DENY, message="the scope changes")
    refused = said(view(crd, piece(), checked={CRD: Checked((bad,))}))
    assert (refused.reason, refused.steps) == (Reason.CRD_UNSAFE, ())
    warned = CrdFinding(crd=CRD, rule=CrdRule.SCOPE, action=RuleAction.WARN, message="the scope changes")
    assert said(view(crd, checked={CRD: Checked((warned,))})).reason is Reason.INSTALLING
    unknown = said(view(crd, checked={CRD: Checked(trouble="not served")}))
    assert unknown.reason is Reason.CRD_UNSAFE


def test_that_something_comes_is_on_record_before_it_does() -> None:
    untouched = version("1.0.0", notes={ORDER: "1", UNTOUCHED: "true"})
    (step,) = said(view(piece(), of=untouched, tried=Tried())).steps
    assert isinstance(step, Begin)
    (step,) = said(view(piece())).steps
    assert isinstance(step, PutPiece)


def test_the_account_is_tried_out_before_anything_is_on_record() -> None:
    untouched = version("1.0.0", notes={ORDER: "1", UNTOUCHED: "true"})
    role = piece(CONFIG_MAP, "role")
    asked = said(view(role, piece(), of=untouched))
    (step,) = asked.steps
    assert isinstance(step, TryOut)
    assert [one.name for one in step.puts] == ["role", "settings"]
    lacks, cannot = Refused("ConfigMap ops/role", "not held"), Refused("ConfigMap ops/settings", "may not")
    missing = Tried((lacks, cannot))
    refused, case = installed(view(role, piece(), of=untouched, tried=missing))
    assert (refused.reason, refused.steps) == (Reason.NOT_ALLOWED, ())
    assert refused.message == "ConfigMap ops/role: not held and 1 more"
    told = [(one.name, one.message) for one in case.required if one.kind is RequirementKind.PERMISSION]
    assert told == [(one.what, one.why) for one in missing.refused], "each is told in the status"
    wrong = Tried((Refused("ConfigMap ops/role", "no such field", forbidden=False),))
    assert said(view(role, of=untouched, tried=wrong)).reason is Reason.REFUSED
    again = said(view(role, piece(), of=untouched, tried=missing._replace(old=True)))
    assert [type(one) for one in again.steps] == [TryOut]
    assert isinstance(said(view(role, of=untouched, tried=Tried())).steps[0], Begin)


def test_what_taking_over_needs_is_asked_for_before_the_old_version_is_stopped() -> None:
    old = version("1.0.0", 1, "", "Installed")
    untouched = version("1.1.0", 2, "1.0.0", notes={ORDER: "2", UNTOUCHED: "true"})
    kinds = frozenset({CONFIG_MAP, DEPLOYMENT})
    (step,) = said(install_view(site(old, untouched), untouched, piece(), inherits=kinds)).steps
    assert isinstance(step, TryOut)
    assert [str(one) for one in step.rights] == [
        "list configmaps",
        "patch configmaps",
        "list deployments.apps",
        "patch deployments.apps",
        "delete deployments.apps",
    ]


def test_a_change_of_a_definition_is_looked_at_by_itself() -> None:
    untouched = version("1.0.0", notes={ORDER: "1", UNTOUCHED: "true"})
    (step,) = said(view(changing("v1", "v2"), piece(), of=untouched)).steps
    assert isinstance(step, TryOut)
    assert [one.name for one in step.puts] == ["settings"]
    (step,) = said(view(changing("v1", "v2"), of=untouched)).steps
    assert isinstance(step, CheckCrd)


def changing(*versions: str, stored: tuple[str, ...] = ("v1",), storage: str = "v1") -> Piece:
    """A definition that would have these versions, all of them served."""
    one = piece(CUSTOM_RESOURCE_DEFINITION, CRD, manifest="old", uid="u", stored=stored, storage=storage)
    listed = [{"name": each, "served": True, "storage": each == versions[-1]} for each in versions]
    return msgspec.structs.replace(one, manifest={**one.manifest, "spec": {"versions": listed}})


def test_a_definition_goes_on_serving_what_others_require() -> None:
    needed = {CRD: (Needed("v1", "ops/nets.v1.0.0"),)}
    line = said(view(changing("v2"), needed=needed))
    assert (line.reason, line.steps) == (Reason.OWNER_CONFLICT, ())
    assert "v1" in line.message
    assert "ops/nets.v1.0.0" in line.message
    assert said(view(changing("v1", "v2"), needed=needed)).reason is Reason.CHECKING_CRDS


def test_objects_are_stored_anew_before_the_version_that_they_are_stored_in_goes() -> None:
    crd = changing("v2", stored=("v1", "v2"), storage="v2")
    goes = CrdFinding(crd=CRD, rule=CrdRule.STORED_VERSION_REMOVAL, action=RuleAction.DENY, message="v1 goes")
    line = said(view(crd, checked={CRD: Checked((goes,))}))
    assert line.reason is Reason.STORING_ANEW
    (step,) = line.steps
    assert isinstance(step, StoreAnew)
    assert (step.storage, step.old) == ("v2", ("v1",))
    scope = CrdFinding(crd=CRD, rule=CrdRule.SCOPE, action=RuleAction.DENY, message="the scope changes")
    refused = said(view(crd, checked={CRD: Checked((goes, scope))}))
    assert (refused.reason, refused.steps) == (Reason.CRD_UNSAFE, ()), "there is a way back until all is well"


@pytest.mark.parametrize(("served", "stays"), [(("v1", "v2"), True), (("v2",), False)])
def test_who_goes_back_keeps_a_definition_that_serves_what_it_knows(
    served: tuple[str, ...], stays: bool
) -> None:
    newer = version("1.1.0", 1, "", "Installed")
    older = version("1.0.0", 2, "1.1.0")
    crd = changing("v1")
    assert crd.live is not None
    live = msgspec.structs.replace(crd.live, served=served, owner_uid=newer.uid)
    crd = msgspec.structs.replace(crd, live=live)
    (step,) = said(install_view(site(newer, older), older, crd)).steps
    if stays:
        assert isinstance(step, PutPiece)
        assert step.content_stays
    else:
        assert isinstance(step, CheckCrd)


def test_a_version_in_which_objects_are_stored_now_does_not_go() -> None:
    crd = changing("v2")
    goes = CrdFinding(crd=CRD, rule=CrdRule.STORED_VERSION_REMOVAL, action=RuleAction.DENY, message="v1 goes")
    line = said(view(crd, checked={CRD: Checked((goes,))}))
    assert (line.reason, line.steps) == (Reason.CRD_UNSAFE, ())


def test_another_look_is_taken_when_objects_are_stored_otherwise() -> None:
    before, after = (changing("v2", stored=one, storage="v2") for one in (("v1", "v2"), ("v2",)))
    assert check_token(before, app()) != check_token(after, app())


def test_what_is_required_and_missing_holds_everything_up() -> None:
    required = [{"name": CRD, "version": "v1", "kind": "Boat"}]
    waiting = version("1.0.0", spec={"requiredCRDs": required})
    line = said(view(piece(), of=waiting))
    assert (line.reason, line.steps) == (Reason.REQUIREMENTS_NOT_MET, ())
    optional = version("1.0.0", spec={"requiredCRDs": [{**required[0], "optional": True}]})
    assert said(view(piece(), of=optional)).steps
    needs = version("1.0.0", spec={"dependencies": [{"package": "nets", "range": ">=2.0.0"}]})
    for running, met in (((), False), (("1.9.0",), False), (("2.1.0",), True)):
        found = said(view(piece(), of=needs, packages={"nets": running}))
        assert bool(found.steps) is met


def test_a_version_of_kubernetes_that_does_not_fit_holds_it_up() -> None:
    newer = version("1.0.0", spec={"minKubernetesVersion": "1.99.0"})
    line = said(view(piece(), of=newer))
    assert line.reason is Reason.REQUIREMENTS_NOT_MET
    assert "1.99.0" in line.message


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (Site(app=None, versions=(NEW,)), Reason.ORPHANED),
        (site(NEW, of=app(paused=True)), Reason.PAUSED),
        (site(NEW, of=app(held="nodes first")), Reason.PAUSED),
        (site(NEW, going=True), Reason.REMOVING),
        (site(NEW, version("1.1.0", 2, "1.0.0")), Reason.BEING_REPLACED),
    ],
)
def test_where_nothing_is_to_be_done_nothing_is(where: Site, reason: Reason) -> None:
    line = said(view(piece(), where=where))
    assert line.reason is reason
    assert line.steps == ()


def test_what_cannot_be_looked_at_is_told_and_what_runs_goes_on_running() -> None:
    lost = Trouble(Reason.NO_PAYLOAD, "no catalog has them")
    assert said(view(trouble=lost)).reason is Reason.NO_PAYLOAD
    runs = version("1.0.0", 1, "", "Installed")
    line = said(view(of=runs, trouble=lost, deployments={"app": deployment(runs)}))
    assert (line.reason, line.holds) == (Reason.INSTALLED, Holds.TRUE)


def test_what_ran_and_is_not_compared_with_its_manifests_runs_while_its_deployments_do() -> None:
    lost = Trouble(Reason.NO_PAYLOAD, "no catalog has them")
    ran = version("1.1.0", 2, "1.0.0", "no:Installed", "HandedOver")
    line = said(view(of=ran, trouble=lost, deployments={"app": deployment(ran)}))
    assert (line.reason, line.holds) == (Reason.INSTALLED, Holds.TRUE)
    runs = version("1.0.0", 1, "", "Installed")
    crashes = deployment(runs, available_replicas=0)
    for rows in ({}, {"app": crashes}, {"app": deployment(OLD, replicas=0)}, {"app": deployment(NEXT)}):
        line = said(view(of=runs, trouble=lost, deployments=rows))
        assert (line.reason, line.holds) == (Reason.NO_PAYLOAD, Holds.FALSE)
        assert "Deployment app is not available" in line.message


# --- from one version to the next ---

OLD = version("1.0.0", 1, "", "Installed")
NEXT = version("1.1.0", 2, "1.0.0")
BOTH = site(OLD, NEXT)


def test_what_the_old_version_owned_is_taken_over_in_the_same_write() -> None:
    theirs = piece(DEPLOYMENT, "app", **mine(OLD, "old"))
    (step,) = said(view(theirs, where=BOTH, of=NEXT, deployments={"app": deployment(OLD)})).steps
    assert isinstance(step, PutPiece)
    assert [one.uid for one in step.before] == [OLD.uid]
    assert step.seen_owner == OLD.uid


def test_a_veto_holds_until_the_first_write_and_not_after() -> None:
    vetoes = version("1.0.0", 1, "", "Installed", "no:Upgradeable")
    where = site(vetoes, NEXT)
    assert said(view(piece(), where=where, of=NEXT)).reason is Reason.VETOED
    begun = view(piece(**mine(NEXT)), piece(name="more"), where=where, of=NEXT)
    assert said(begun).reason is Reason.INSTALLING


def waits(**notes: str) -> Custom:
    return version("1.1.0", 2, "1.0.0", notes={ORDER: "2", **notes})


def test_while_the_next_version_waits_the_old_one_is_what_runs_and_is_kept_so() -> None:
    """Whatever somebody does to it, and whatever becomes of its pods, is seen; once the next has begun it is
    judged no more."""
    waiting, begun = waits(**{UNTOUCHED: "true"}), waits()
    runs = runs_as("app", OLD)
    gone, stripped = piece(DEPLOYMENT, "app"), msgspec.structs.replace(runs, live=stripped_live(runs))
    for lost in (gone, stripped):
        (step,) = said(view(lost, where=site(OLD, waiting), of=OLD)).steps
        assert isinstance(step, PutPiece)
        over = said(view(lost, where=site(OLD, begun), of=OLD))
        assert (over.reason, over.holds, over.steps) == (Reason.BEING_REPLACED, Holds.TRUE, ())
    for available, reason in ((1, Reason.INSTALLED), (0, Reason.WAITING_FOR_PODS)):
        rows = {"app": deployment(OLD, available_replicas=available)}
        assert said(view(runs, where=site(OLD, waiting), of=OLD, deployments=rows)).reason is reason


@pytest.mark.parametrize("of", [OLD, NEXT], ids=lambda one: one.name)
@pytest.mark.parametrize("paused", [True, False])
def test_what_somebody_takes_off_a_version_is_put_back_first(of: Custom, paused: bool) -> None:
    """Without our finalizer a version goes with all that it owns; without its number it looks older."""
    bare = msgspec.structs.replace(of, finalizers=())
    uncounted = msgspec.structs.replace(of, annotations=NO_LABELS)
    for lost, kind in ((bare, SetFinalizer), (uncounted, NoteOrder)):
        rows = (lost if one is of else one for one in (OLD, NEXT))
        where = site(*rows, of=app(paused=paused))
        line = said(view(piece(), where=where, of=lost))
        assert [type(one) for one in line.steps] == [kind]
        assert line.holds is (Holds.TRUE if of is OLD else Holds.FALSE)


def stripped_live(one: Piece) -> Live:
    assert one.live is not None
    return msgspec.structs.replace(one.live, owner_uid="", manifest="")


def test_one_that_never_ran_does_not_begin_while_the_next_waits() -> None:
    never = version("1.0.0", 1, notes={ORDER: "1", UNTOUCHED: "true"})
    line = said(view(piece(), where=site(never, waits(**{UNTOUCHED: "true"})), of=never))
    assert (line.reason, line.steps) == (Reason.BEING_REPLACED, ())


def test_the_old_one_ends_before_one_of_another_name_begins() -> None:
    fresh = piece(DEPLOYMENT, "fleet")
    runs = view(fresh, where=BOTH, of=NEXT, deployments={"app": deployment(OLD)})
    (step,) = said(runs).steps
    assert isinstance(step, StopDeployment)
    assert step.name == "app"
    ending = deployment(OLD, replicas=0)
    assert said(view(fresh, where=BOTH, of=NEXT, deployments={"app": ending})).steps == ()
    ended = deployment(OLD, replicas=0, current_replicas=0)
    pods = view(fresh, where=BOTH, of=NEXT, deployments={"app": ended}, ending=frozenset({"app"}))
    assert (said(pods).reason, said(pods).steps) == (Reason.STOPPING_OLD, ()), "pods that end still act"
    (begun,) = said(view(fresh, where=BOTH, of=NEXT, deployments={"app": ended})).steps
    assert isinstance(begun, PutPiece)
    assert begun.name == "fleet"


def unmarked(row: Deployment, **more: Any) -> Deployment:
    """As somebody applies it who knows nothing of us, over it or anew."""
    return msgspec.structs.replace(row, labels=NO_LABELS, annotations=NO_LABELS, uid="uid-anew", **more)


RAN = version("1.0.0", 1, "", "Installed", "HandedOver")


@pytest.mark.parametrize("replicas", [1, 0])
def test_an_old_one_off_which_somebody_took_our_marks_is_found_by_name_stopped_and_marked(
    replicas: int,
) -> None:
    row = unmarked(deployment(RAN), replicas=replicas, current_replicas=replicas)
    where = site(RAN, NEXT)
    for pieces in ((piece(DEPLOYMENT, "fleet"),), (runs_as("fleet"),)):
        rows = {"app": row, "fleet": deployment(NEXT, name="fleet")}
        (step,) = said(view(*pieces, where=where, of=NEXT, deployments=rows)).steps
        assert isinstance(step, StopDeployment)
        assert (step.name, step.uid, step.owner) == ("app", "uid-anew", owner_of(RAN))


def test_a_deployment_of_that_name_that_the_old_version_may_never_have_made_is_somebody_elses() -> None:
    never = version("1.0.0", 1)
    rows = {"app": unmarked(deployment(never))}
    (step,) = said(view(piece(DEPLOYMENT, "fleet"), where=site(never, NEXT), of=NEXT, deployments=rows)).steps
    assert isinstance(step, PutPiece)


def test_what_somebody_replaced_whole_is_still_of_the_version_that_ran() -> None:
    anew = piece(DEPLOYMENT, "app", uid="uid-anew")
    (step,) = said(view(anew, where=site(RAN), of=RAN)).steps
    assert isinstance(step, PutPiece)
    assert (step.uid, step.seen_owner) == ("uid-anew", "")
    (step,) = said(view(anew, where=site(RAN, NEXT), of=NEXT)).steps
    assert isinstance(step, PutPiece), "both versions have it"
    assert said(view(piece(uid="u"), where=site(RAN, NEXT), of=NEXT)).reason is Reason.OWNER_CONFLICT


def test_what_has_lost_the_label_by_which_it_is_found_is_put_again() -> None:
    (step,) = said(view(piece(**mine(NEW, labelled=False)))).steps
    assert isinstance(step, PutPiece)


def test_one_that_selects_other_pods_is_stopped_and_removed_first() -> None:
    theirs = piece(DEPLOYMENT, "app", **mine(OLD, "old", other_selector=True))
    for replicas, expected in ((1, StopDeployment), (0, RemovePiece)):
        row = deployment(OLD, replicas=replicas, current_replicas=replicas)
        (step,) = said(view(theirs, where=BOTH, of=NEXT, deployments={"app": row})).steps
        assert isinstance(step, expected)


def runs_as(name: str, of: Custom = NEXT) -> Piece:
    made = piece(DEPLOYMENT, name, **mine(of))
    return msgspec.structs.replace(made, manifest={**made.manifest, "spec": {}})


@pytest.mark.parametrize("available", [0, 1])
def test_an_old_one_that_somebody_scales_up_again_is_stopped_again(available: int) -> None:
    """Before all is handed over it is still there, and two would act."""
    fresh = runs_as("fleet")
    rows = {
        "app": deployment(OLD),
        "fleet": deployment(NEXT, name="fleet", available_replicas=available),
    }
    line = said(view(fresh, where=BOTH, of=NEXT, deployments=rows))
    (step,) = line.steps
    assert isinstance(step, StopDeployment)
    assert step.name == "app"
    assert line.reason is (Reason.INSTALLED if available else Reason.WAITING_FOR_PODS)


def test_who_scales_it_up_again_and_again_is_told_and_not_fought_at_full_speed() -> None:
    fresh, memory, now = runs_as("fleet"), Memory(), NOW
    rows = {"app": deployment(OLD), "fleet": deployment(NEXT, name="fleet")}
    stopped, told = 0, False
    for _ in range(600):
        seen = view(fresh, where=BOTH, of=NEXT, deployments=rows, changes=memory.changes)
        decision = decide(seen, now, Loop.INSTALL)
        for step in decision.steps:
            memory.note(step, now)
            stopped += isinstance(step, StopDeployment)
        told = told or "somebody scales Deployment ops/app of" in str(decision.told)
        now += timedelta(seconds=1)
    assert told
    assert stopped < 30
