"""The echo: which placement the API server goes by."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from shiplift.api.placements import PLACEMENT
from shiplift.facts.kinds import (
    POD,
    WORKLOAD_PLACEMENT,
)
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden
from shiplift.workloads import admission
from shiplift.workloads.names import GENERATION_IN_FORCE
from tests.kube import operator_identity
from tests.until import until
from tests.workloads.admission.stage import (
    HELD,
    RELEASED,
    Json,
    Stage,
    is_binding,
    pod_of,
    requiring,
)


def test_the_echo_tells_the_generation_of_the_placement(stage: Stage) -> None:
    namespace = stage.namespace()
    made = stage.place(namespace, {})
    for turn in ("Held", "Released", "Held"):
        change = {"spec": {"turns": {"Deployment.web": turn}}}
        uid = made["metadata"]["uid"]
        made = stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, namespace, uid=uid).object
        until(lambda made=made: stage.effective(namespace) == made["metadata"]["generation"])
    assert made["metadata"]["generation"] == 4


def test_what_the_echo_has_told_holds_for_pods(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
    turns = itertools.islice(itertools.cycle([("Released", RELEASED), ("Held", HELD)]), 40)
    for turn, wanted in turns:
        change = {"spec": {"turns": {"Deployment.web": turn}}}
        made = stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, namespace, uid=uid).object
        until(lambda made=made: stage.effective(namespace) == made["metadata"]["generation"], every=0.002)
        assert stage.affinity(namespace, pod_of("web")) == requiring({"matchExpressions": [wanted]})


def test_the_echo_is_never_stored(stage: Stage, listed: str) -> None:
    assert stage.effective(listed) == 1
    found = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, listed)
    change = {"metadata": {"annotations": {"note": "by hand"}}}
    uid = found["metadata"]["uid"]
    written = stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, listed, uid=uid).object
    assert written["metadata"]["annotations"] == {"note": "by hand"}
    answer = stage.client.update(WORKLOAD_PLACEMENT, written, dry_run=True).object
    assert answer["metadata"]["annotations"] == {"note": "by hand", GENERATION_IN_FORCE: "1"}
    assert stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, listed)["metadata"]["annotations"].keys() == {
        "note"
    }


def test_an_echo_that_somebody_stored_is_no_answer(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
    lie = {"metadata": {"annotations": {GENERATION_IN_FORCE: "99"}}}
    stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, lie, namespace, uid=uid)
    assert stage.effective(namespace) == 1
    stage.remove(is_binding)
    until(lambda: stage.effective(namespace) == 0)
    stage.install(is_binding)
    until(lambda: stage.effective(namespace) == 1, seconds=90)


def test_the_echo_never_takes_an_earlier_placement_for_the_new_one(stage: Stage) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    for _ in range(20):
        uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
        stage.client.delete(WORKLOAD_PLACEMENT, PLACEMENT, namespace, uid=uid)
        stage.place(namespace, {"Deployment.web": "Released"})
        until(lambda: stage.effective(namespace), every=0.002)
        assert stage.affinity(namespace, pod_of("web")) == requiring({"matchExpressions": [RELEASED]})
        uid = stage.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
        change = {"spec": {"turns": {"Deployment.web": "Held"}}}
        stage.client.patch(WORKLOAD_PLACEMENT, PLACEMENT, change, namespace, uid=uid)


def test_the_echo_needs_no_right_to_create_pods(stage: Stage, tmp_path: Path) -> None:
    namespace = stage.placed({"Deployment.web": "Held"})
    rights = {"apiGroups": ["shiplift.dev"], "resources": ["workloadplacements"], "verbs": ["get", "patch"]}
    operator_identity.make_service_account(stage.client, namespace, [rights])
    config = operator_identity.kubeconfig(
        stage.client, stage.cluster.kubeconfig, tmp_path / "kubeconfig", namespace
    )
    with Client(credentials.load(config)) as operator:
        with pytest.raises(Forbidden):
            operator.create(POD, pod_of("web"), namespace, dry_run=True)
        assert Stage(stage.cluster, operator).effective(namespace) == 1


@pytest.mark.parametrize(
    ("annotations", "generation"),
    [(None, 0), ({}, 0), ({"note": "x"}, 0)]
    + [
        ({GENERATION_IN_FORCE: text}, number)
        for text, number in (("7", 7), ("", 0), ("x", 0), ("-1", 0), ("²", 0))
    ],
)
def test_an_answer_without_an_echo_counts_as_none(annotations: Json | None, generation: int) -> None:
    assert admission.effective_generation({"metadata": {"annotations": annotations}}) == generation


def test_an_answer_without_metadata_counts_as_none() -> None:
    assert admission.effective_generation({}) == 0
