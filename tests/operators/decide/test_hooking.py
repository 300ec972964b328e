"""The Job by which a version prepares to take over: once, before anything is taken, and it has to succeed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.hooks import JobState
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT
from shiplift.operators.act.hooks import job_of
from shiplift.operators.decide.install import installed
from shiplift.operators.model import Checked, Job, Piece, Reason, Tried
from shiplift.operators.names import HOOKED, ORDER, UNTOUCHED
from shiplift.operators.steps import Begin, HookDone, PutPiece, RunHook, StoreAnew
from tests.operators.decide.views import install_view, mine, piece, site, version

TEMPLATE = {
    "spec": {"serviceAccountName": "admin", "containers": [{"name": "main", "image": "example/backup"}]}
}
HOOK = {"name": "backup", "serviceAccountName": "backups", "job": {"template": TEMPLATE}}
OLD = version("1.0.0", 1, "", "Installed", spec={"handOver": HOOK})


def new(**notes: str) -> Custom:
    return version("1.1.0", 2, "1.0.0", spec={"handOver": HOOK}, notes={ORDER: "2", **notes})


def said(of: Custom, job: Job | None = None, *versions: Custom) -> Any:
    theirs = piece(DEPLOYMENT, "app", **mine(OLD, "old"))
    return installed(install_view(site(*(versions or (OLD, of))), of, theirs, job=job))[0]


def test_it_runs_before_anything_is_taken_over_as_the_account_that_it_names() -> None:
    line = said(new())
    (step,) = line.steps
    assert line.reason is Reason.HOOK_RUNNING
    assert isinstance(step, RunHook)
    assert step.account == "installer"
    made = job_of(step)
    pod = made["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["serviceAccount"]) == ("backups", "backups")
    told = {one["name"]: one["value"] for one in pod["containers"][0]["env"]}
    assert told == {"SHIPLIFT_FROM": "app.v1.0.0", "SHIPLIFT_TO": "app.v1.1.0"}
    assert made["spec"]["activeDeadlineSeconds"] == 600
    assert made["metadata"]["name"] == step.job
    assert said(new()).steps[0].job == step.job, "its name is fixed, so that it is never made twice"


def test_it_has_succeeded_before_anything_is_begun_from_which_there_is_no_way_back() -> None:
    waits = new(**{UNTOUCHED: "true"})
    versions = [{"name": "v2", "served": True, "storage": True}]
    stored = piece(CUSTOM_RESOURCE_DEFINITION, "c", **mine(OLD, "old", stored=("v1", "v2"), storage="v2"))
    crd = msgspec.structs.replace(stored, manifest={**stored.manifest, "spec": {"versions": versions}})
    known: dict[str, Any] = {"tried": Tried(), "checked": {"c": Checked()}}

    def next_of(of: Custom, *pieces: Piece) -> type:
        (step,) = installed(install_view(site(OLD, of), of, *pieces, **known))[0].steps
        return type(step)

    assert next_of(waits, crd) is RunHook
    assert next_of(waits, piece()) is RunHook
    hooked = new(**{UNTOUCHED: "true", HOOKED: "backup-1"})
    assert next_of(hooked, crd) is StoreAnew
    assert next_of(hooked, piece()) is Begin


@pytest.mark.parametrize(
    ("state", "reason", "steps"),
    [
        (JobState.RUNNING, Reason.HOOK_RUNNING, []),
        (JobState.FAILED, Reason.HOOK_FAILED, []),
        (JobState.SUCCEEDED, Reason.HOOK_RUNNING, [HookDone]),
    ],
)
def test_nothing_else_is_done_until_its_success_is_on_record(
    state: JobState, reason: Reason, steps: list[type]
) -> None:
    line = said(new(), Job(state, "because"))
    assert line.reason is reason
    assert [type(one) for one in line.steps] == steps


def test_once_it_is_on_record_it_does_not_run_again() -> None:
    (step,) = said(new(**{HOOKED: "backup-1"})).steps
    assert isinstance(step, PutPiece)


def test_who_ran_already_runs_none_whoever_took_the_note_off() -> None:
    ran = version("1.1.0", 2, "1.0.0", "Installed", "HandedOver", spec={"handOver": HOOK})
    assert said(ran).reason is not Reason.HOOK_RUNNING


def test_who_takes_over_from_nobody_runs_none() -> None:
    alone = version("1.1.0", 2, spec={"handOver": HOOK})
    assert said(alone, None, alone).reason is not Reason.HOOK_RUNNING


def test_who_takes_back_what_was_taken_from_it_runs_none() -> None:
    withdrawn = version("1.1.0", 2, "1.0.0", deleting=5)
    line = said(OLD, None, OLD, withdrawn)
    assert line.reason is not Reason.HOOK_RUNNING
