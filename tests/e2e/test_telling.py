"""What is told of a pod of the operator: why it is not Ready has to be in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.telling import of_pod, reasons

Json = dict[str, Any]
IMAGE = "registry.example/shiplift:1"


def a_pod(status: Json, node: str = "m2", **about: str) -> Json:
    spec = (
        {"nodeName": node, "containers": [{"image": IMAGE}]} if node else {"containers": [{"image": IMAGE}]}
    )
    return {"metadata": {"name": "shiplift-a", **about}, "spec": spec, "status": status}


def waiting(reason: str) -> Json:
    state = {"waiting": {"reason": reason, "message": "not found"}}
    return {"phase": "Pending", "containerStatuses": [{"restartCount": 0, "state": state}]}


UNPLACED: Json = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
}
CRASHED: Json = {
    "phase": "Running",
    "containerStatuses": [
        {
            "restartCount": 2,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
        }
    ],
}


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (a_pod({"phase": "Running"}), "on m2: Running"),
        (a_pod({"phase": "Running"}, deletionTimestamp="2026-11-19T00:00:00Z"), "Running, on its way out"),
        (a_pod(UNPLACED, node=""), "on no node: Pending, PodScheduled False 0/3 nodes are available"),
        (a_pod(waiting("ErrImagePull")), "Pending, waiting: ErrImagePull not found"),
        (a_pod(CRASHED), "started 3 times, waiting: CrashLoopBackOff, terminated: OOMKilled 137"),
        ({**a_pod({}), "status": None}, "on m2: "),
    ],
)
def test_a_pod_says_where_it_is_and_what_is_wrong_with_it(pod: Json, said: str) -> None:
    assert f"pod shiplift-a of {IMAGE} " in of_pod(pod)
    assert said in of_pod(pod)


def test_what_a_pod_waits_for_is_in_the_words_of_its_kubelet() -> None:
    assert reasons(a_pod(waiting("ImagePullBackOff"))) == {"ImagePullBackOff"}
    assert reasons(a_pod({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]})) == set()
    assert reasons(a_pod({})) == set()
