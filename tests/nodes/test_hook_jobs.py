"""The Job of a hook: made of the hook's template, as the hook's account, told which node it is about."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.values import Hook
from shiplift.nodes.act.hooks import job_of
from shiplift.nodes.model import Hooked, HookState
from shiplift.nodes.observe.hooks import hooked
from shiplift.nodes.steps import MakeHook

STEP = MakeHook("r", "uid-r", "a", "pre", "ops", "pre-1234")
CONTAINER = {"name": "main", "image": "example.com/pre:1", "env": [{"name": "X", "value": "1"}]}


def made(job: dict[str, Any], **given: Any) -> dict[str, Any]:
    hook = Hook(name="pre", namespace="ops", service_account_name="runner", job=job, **given)
    return job_of(STEP, hook)


def template(**spec: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [CONTAINER], **spec}}}


def test_a_job_runs_as_the_account_that_the_hook_names_whatever_its_template_says() -> None:
    spec = made(template(serviceAccountName="shiplift", serviceAccount="shiplift"))["spec"]["template"][
        "spec"
    ]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("runner", "runner")


def test_a_job_is_the_rollouts_and_ours() -> None:
    about = made(template())["metadata"]
    assert (about["name"], about["namespace"]) == ("pre-1234", "ops")
    assert about["labels"] == {
        "app.kubernetes.io/managed-by": "shiplift",
        "shiplift.dev/rollout-uid": "uid-r",
    }
    (owner,) = about["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("NodeRollout", "r", "uid-r")


def test_every_container_is_told_what_it_is_about_and_keeps_its_own() -> None:
    spec = made(template(initContainers=[CONTAINER]))["spec"]["template"]["spec"]
    told = [{"name": "SHIPLIFT_NODE", "value": "a"}, {"name": "SHIPLIFT_ROLLOUT", "value": "r"}]
    for field in ("containers", "initContainers"):
        assert spec[field] == [CONTAINER | {"env": [*told, {"name": "X", "value": "1"}]}]


def test_the_template_itself_stays_as_it_was() -> None:
    job = template()
    made(job)
    assert job == template()
    assert "env" in CONTAINER
    assert len(CONTAINER["env"]) == 1


@pytest.mark.parametrize(
    ("own", "timeout", "limit"),
    [(None, "10m", 600), (60, "10m", 60), (6000, "10m", 600), ("soon", "30s", 30)],
)
def test_a_job_may_take_as_long_as_the_hook_says(own: Any, timeout: str, limit: int) -> None:
    job = template() | ({} if own is None else {"activeDeadlineSeconds": own})
    assert made(job, timeout=timeout)["spec"]["activeDeadlineSeconds"] == limit


def test_what_the_template_says_otherwise_is_kept() -> None:
    job = made(template(restartPolicy="OnFailure") | {"backoffLimit": 3})["spec"]
    assert (job["backoffLimit"], job["template"]["spec"]["restartPolicy"]) == (3, "OnFailure")
    assert made(template())["spec"]["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize(
    "job", [{}, {"template": "?"}, {"template": {"spec": []}}, {"template": {"spec": {"containers": "?"}}}]
)
def test_a_template_that_makes_no_sense_is_left_to_the_api_server(job: dict[str, Any]) -> None:
    assert made(job)["spec"]["template"]["spec"]["serviceAccountName"] == "runner"


def a_job(*conditions: dict[str, str]) -> dict[str, Any]:
    about = {"namespace": "ops", "name": "pre-1234", "uid": "u", "resourceVersion": "12"}
    return {"metadata": about, "status": {"conditions": list(conditions)} if conditions else {}}


def said(kind: str, status: str = "True", **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, **more}


@pytest.mark.parametrize(
    ("conditions", "state", "message"),
    [
        ((), HookState.RUNNING, ""),
        ((said("Complete"),), HookState.SUCCEEDED, ""),
        ((said("Complete", "False"),), HookState.RUNNING, ""),
        ((said("SuccessCriteriaMet"), said("Complete")), HookState.SUCCEEDED, ""),
        ((said("FailureTarget"),), HookState.RUNNING, ""),
        ((said("Failed", message="too often", reason="B"),), HookState.FAILED, "too often"),
        ((said("Failed", reason="DeadlineExceeded"),), HookState.FAILED, "DeadlineExceeded"),
        ((said("Suspended"),), HookState.RUNNING, "it is suspended"),
    ],
)
def test_its_conditions_say_how_a_job_is(conditions: Any, state: HookState, message: str) -> None:
    assert hooked(a_job(*conditions)) == Hooked("ops", "pre-1234", "u", 12, state, message)
