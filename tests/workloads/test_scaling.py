"""Replicas, floors and tolerations of workloads, written to a real API server: that one field, in the version
that was seen, of the object that was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from shiplift.engine.barrier import Seen
from shiplift.engine.contested import Memory
from shiplift.engine.step import Answer, Outcome, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.act.tolerations import toleration
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.memory import InForce
from shiplift.workloads.steps import Scale, SetTolerations
from tests.kube.objects import deployment, uid

Json = dict[str, Any]
SPACE = "default"
THEIRS = {"key": "example.com/gpu", "operator": "Exists"}
BOTH = pytest.mark.parametrize("kind", [kinds.DEPLOYMENT, kinds.STATEFUL_SET], ids=str)


@pytest.fixture
def client(private_cluster: Callable[..., Cluster]) -> Iterator[Client]:
    """No controller runs: nobody else writes to what is looked at."""
    with private_cluster().client() as client:
        yield client


def take(client: Client, step: Step) -> Outcome:
    return Actor(client, InForce(), Memory()).act(step)


def workload(client: Client, kind: Kind, **template: Any) -> Json:
    body = deployment("web", **template) | {"kind": kind.kind}
    return client.create(kind, body, SPACE).object


def version(thing: Json) -> int:
    return int(thing["metadata"]["resourceVersion"])


def scale(made: Json, replicas: int, **given: Any) -> Scale:
    id_ = WorkloadId(made.get("kind", ""), SPACE, "web")
    step = Scale(id_, "", uid(made), version(made), replicas, "a surge")
    return msgspec.structs.replace(step, **given)


def specs(client: Client, kind: Kind) -> tuple[int, Json]:
    spec = client.get(kind, "web", SPACE)["spec"]
    return spec["replicas"], spec["template"]


@BOTH
def test_replicas_are_written_through_scale_and_shown_by_the_workload_itself(
    client: Client, kind: Kind
) -> None:
    made = workload(client, kind)
    outcome = take(client, scale(made, 2))
    assert specs(client, kind) == (2, made["spec"]["template"])
    live = client.get(kind, "web", SPACE)
    assert (outcome.answer, outcome.barriers) == (Answer.OK, (Seen(kind, version(live)),))
    assert "scale" in {one.get("subresource") for one in live["metadata"]["managedFields"]}


@BOTH
def test_a_workload_that_has_changed_or_is_another_is_not_scaled(client: Client, kind: Kind) -> None:
    made = workload(client, kind)
    take(client, scale(made, 2))
    late = take(client, scale(made, 3))
    assert (late.answer, late.message.partition(":")[0]) == (Answer.REFUSED, "somebody else was faster")
    now = version(client.get(kind, "web", SPACE))
    other = take(client, scale(made, 3, uid="another", version=now))
    assert (other.answer, other.message.partition(":")[0]) == (Answer.REFUSED, "the object is gone")
    assert specs(client, kind)[0] == 2


def test_of_a_workload_with_an_autoscaler_its_floor_is_raised(client: Client) -> None:
    workload(client, kinds.DEPLOYMENT)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5}
    body = {"metadata": {"name": "scaler"}, "spec": spec}
    made = client.create(kinds.HORIZONTAL_POD_AUTOSCALER, body, SPACE).object
    outcome = take(client, scale(made | {"kind": "Deployment"}, 2, autoscaler="scaler"))
    live = client.get(kinds.HORIZONTAL_POD_AUTOSCALER, "scaler", SPACE)
    assert (live["spec"]["minReplicas"], live["spec"]["maxReplicas"]) == (2, 5)
    assert outcome.barriers == (Seen(kinds.HORIZONTAL_POD_AUTOSCALER, version(live)),)
    assert specs(client, kinds.DEPLOYMENT)[0] == 1


@BOTH
def test_our_toleration_comes_beside_those_of_others_and_goes_alone(client: Client, kind: Kind) -> None:
    made = workload(client, kind, tolerations=[THEIRS])
    id_ = WorkloadId(kind.kind, SPACE, "web")

    def tolerations(target: str) -> list[Json]:
        assert take(client, SetTolerations(id_, uid(made), target)).ok
        return specs(client, kind)[1]["spec"]["tolerations"]

    assert tolerations("v1.36.3") == [THEIRS, toleration("v1.36.3")]
    assert tolerations("v1.36.4") == [THEIRS, toleration("v1.36.4")], "one of ours at a time"
    assert tolerations("") == [THEIRS]


def test_where_none_is_left_the_template_is_as_it_was(client: Client) -> None:
    made = workload(client, kinds.DEPLOYMENT)
    id_ = WorkloadId("Deployment", SPACE, "web")
    for target in ("v1.36.3", "", ""):
        assert take(client, SetTolerations(id_, uid(made), target)).ok
    assert specs(client, kinds.DEPLOYMENT)[1] == made["spec"]["template"]
    other = take(client, SetTolerations(id_, "another", "v1.36.3"))
    assert (other.answer, other.message) == (Answer.OK, "another workload has its name now")
    assert specs(client, kinds.DEPLOYMENT)[1] == made["spec"]["template"]
