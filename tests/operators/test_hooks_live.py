"""A hook on a real API server: it runs before the next version takes over; if it fails nothing is taken."""

from __future__ import annotations

import json

import msgspec

from shiplift.facts.kinds import DEPLOYMENT, JOB, POD
from tests.operators.bundles import Written
from tests.operators.rig import Json, Scene, boats


def hooked(template: Json) -> list[Written]:
    first, second = boats("1.0.0", "1.1.0")
    job = {"backoffLimit": 0, "template": template}
    hook = {"name": "backup", "serviceAccountName": "default", "job": job}
    return [first, msgspec.structs.replace(second, hand_over=json.dumps(hook))]


def pod(**more: object) -> Json:
    return {"spec": {"containers": [{"name": "main", "image": "example/backup"}], **more}}


def image(scene: Scene) -> str:
    return (scene.find(DEPLOYMENT, "boats") or {})["spec"]["template"]["spec"]["containers"][0]["image"]


def test_a_hook_runs_once_before_the_next_version_takes_over(scene: Scene) -> None:
    scene.offer(*hooked(pod(serviceAccountName="boats-operator")))
    scene.ask("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    assert list(scene.client.list(JOB, scene.space)) == []
    scene.edit("boats", version=None)
    scene.come_to("boats", "1.1.0", 120)
    (job,) = scene.client.list(JOB, scene.space)
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "default"
    assert job["status"]["succeeded"] == 1
    assert [one["kind"] for one in job["metadata"]["ownerReferences"]] == ["AppType"]
    assert image(scene) == "example/boats:1.1.0"


def test_while_a_hook_has_not_succeeded_the_old_version_runs_untouched(scene: Scene) -> None:
    scene.offer(*hooked(pod(nodeSelector={"nowhere": "true"})))
    scene.ask("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.edit("boats", version=None)
    scene.says("boats.v1.1.0", "Installed", "HookRunning")
    (job,) = scene.waits(lambda: list(scene.client.list(JOB, scene.space)))
    (waiting,) = scene.waits(lambda: [one for one in scene.client.list(POD, scene.space) if of(one, "Job")])
    failed = {"status": {"phase": "Failed"}}
    scene.change(POD, waiting["metadata"]["name"], failed, scene.space, "status")
    told = scene.says("boats.v1.1.0", "Installed", "HookFailed")
    assert job["metadata"]["name"] in told
    assert image(scene) == "example/boats:1.0.0"
    assert scene.owned(DEPLOYMENT, "boats") == f"{scene.space}.boats.v1.0.0"


def of(one: Json, kind: str) -> bool:
    return any(each["kind"] == kind for each in one["metadata"].get("ownerReferences") or ())
