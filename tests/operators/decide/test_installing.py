"""Why a version is not installed yet, and what is written in which order."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.operators import CrdFinding, CrdRule, RuleAction
from shiplift.engine.conditions import Status as Holds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SERVICE_ACCOUNT
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.pods import PodSpec
from shiplift.facts.workloads import Deployment
from shiplift.operators.decide.install import installed
from shiplift.operators.handing.ownership import OWNER_UID
from shiplift.operators.model import Checked, InstallView, Line, Reason, Site, Trouble
from shiplift.operators.names import BUNDLE
from shiplift.operators.steps import CheckCrd, PutPiece, RemovePiece, StopDeployment
from tests.operators.decide.views import SPACE, app, install_view, mine, piece, site, version

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
        labels=NO_LABELS,
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
    import msgspec

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
    line = said(view(of=runs, trouble=lost))
    assert (line.reason, line.holds) == (Reason.INSTALLED, Holds.TRUE)


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


def test_the_old_one_ends_before_one_of_another_name_begins() -> None:
    fresh = piece(DEPLOYMENT, "fleet")
    runs = view(fresh, where=BOTH, of=NEXT, deployments={"app": deployment(OLD)})
    (step,) = said(runs).steps
    assert isinstance(step, StopDeployment)
    assert step.name == "app"
    ending = deployment(OLD, replicas=0)
    assert said(view(fresh, where=BOTH, of=NEXT, deployments={"app": ending})).steps == ()
    ended = deployment(OLD, replicas=0, current_replicas=0)
    (begun,) = said(view(fresh, where=BOTH, of=NEXT, deployments={"app": ended})).steps
    assert isinstance(begun, PutPiece)
    assert begun.name == "fleet"


def test_one_that_selects_other_pods_is_stopped_and_removed_first() -> None:
    theirs = piece(DEPLOYMENT, "app", **mine(OLD, "old", other_selector=True))
    for replicas, expected in ((1, StopDeployment), (0, RemovePiece)):
        row = deployment(OLD, replicas=replicas, current_replicas=replicas)
        (step,) = said(view(theirs, where=BOTH, of=NEXT, deployments={"app": row})).steps
        assert isinstance(step, expected)
