"""What is wrong with a pool is named, and then nothing is made; nor for pools that somebody else leads."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.rows import make
from shiplift.api.marks import POOL_LABEL
from shiplift.engine.barrier import Seen
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from shiplift.facts.nodes import Node
from shiplift.machines.in_cluster.decide.decision import decide
from shiplift.machines.in_cluster.model import View
from shiplift.machines.in_cluster.observe import view_of
from tests.machines.in_cluster.world import BEGUN, Snap, World, hosts, row_of, spec

Json = dict[str, Any]
FAKE = {"kwok.x-k8s.io/node": "fake"}


def stalled(world: World, pool: str = "burst") -> str:
    """Its reason, once nothing happens any more; and nothing was made for it."""
    world.settle()
    assert not [one for one in world.cluster.made if one.startswith((f"Machine {pool}", f"Node {pool}"))]
    status, reason = world.said(pool, "Stalled")
    assert status == "True"
    assert f"{pool} {reason}" in world.ears.heard
    return reason


BAD: list[tuple[Json, str, str]] = [
    (
        spec(2, kwok={"cpu": "1025"}),
        "TooLarge",
        "kwok.cpu is 1025, and no machine has that much: at most 1024",
    ),
    (spec(2, kwok={"memory": "65Ti"}), "TooLarge", "kwok.memory is 65Ti"),
    (spec(2, labels={"a b": "x"}), "LabelRefused", "label a b: no node can have that"),
    (spec(2, labels={"shiplift.dev/x": ""}), "LabelRefused", "label shiplift.dev/x: shiplift's own"),
    (spec(2, labels={"node.shiplift.dev/x": ""}), "LabelRefused", "shiplift's own"),
    (spec(2, labels={"kubernetes.io/hostname": "x"}), "LabelRefused", "every node is given that already"),
    (
        spec(2, labels={"topology.kubernetes.io/zone": "x"}, kwok={"zones": ["a"]}),
        "LabelRefused",
        "every node is given that already",
    ),
    (spec(2, labels={"node-role.kubernetes.io/control-plane": ""}), "LabelRefused", "said by role"),
    (
        spec(2, taints=[{"key": "shiplift.dev/upgrade", "effect": "NoSchedule"}]),
        "LabelRefused",
        "taint shiplift.dev/upgrade: shiplift's own",
    ),
    (
        spec(2, taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]),
        "LabelRefused",
        "taint node.kubernetes.io/unreachable: Kubernetes itself gives and takes that",
    ),
    (
        spec(
            1,
            provider="EC2",
            ec2={"region": "r", "image": "i", "instanceType": "t", "subnets": ["s"]},
        ),
        "ProviderToCome",
        "no machines can be made with provider EC2 yet",
    ),
]


@pytest.mark.parametrize(("wanted", "reason", "told"), BAD)
def test_bad_input_is_named_and_nothing_is_changed(wanted: Json, reason: str, told: str) -> None:
    world = World()
    world.pool("burst", wanted)
    assert stalled(world) == reason
    assert told in world.message("burst")


def test_a_zone_is_given_by_label_where_no_zones_are_named() -> None:
    world = World()
    world.pool("burst", spec(1, labels={"topology.kubernetes.io/zone": "x"}))
    world.settle()
    assert world.of(NODE)["burst-0"]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "x"


def test_a_pool_whose_name_leaves_no_room_for_a_number_is_named() -> None:
    long, fits = "b" * 59, "a" * 58
    world = World()
    world.pool(long, 1)
    world.pool(fits, 1)
    assert stalled(world, long) == "NameTooLong"
    assert world.names(NODE) == [f"{fits}-0"]


def test_all_pools_together_have_a_limit_and_the_youngest_waits() -> None:
    world = World()
    for name in ("c", "b", "a"):
        world.pool(name, spec(4000, paused=name != "a"))
        world.passes(minutes=1)
    assert stalled(world, "a") == "TooLarge"
    assert "with 8000 simulated machines of older pools that makes 12000: at most 10000" in world.message("a")
    assert world.said("b") == ("False", "Paused")


# --- names ---


def test_two_pools_that_claim_one_machine_are_both_named_and_nothing_is_done_for_them() -> None:
    world = World()
    world.pool("burst", 2)
    world.pool("racks", hosts("rack-0", "burst-7"))
    world.pool("other", 1)
    assert stalled(world) == stalled(world, "racks") == "ClaimedTwice"
    assert "MachinePools racks and burst both claim machine burst-7" in world.message("burst")
    assert world.names(NODE) == ["other-0"], "a third pool goes on"


def test_two_pools_of_hosts_that_name_one_host_are_told() -> None:
    world = World()
    world.pool("a", hosts("rack-0"))
    world.pool("b", hosts("rack-1"))
    assert stalled(world, "a") == stalled(world, "b") == "ClaimedTwice"
    assert "both claim address 192.0.2.1 port 22" in world.message("b")


def test_pools_whose_names_begin_alike_have_machines_of_their_own() -> None:
    world = World()
    world.pool("a", 2)
    world.pool("a-0", 2)
    world.settle()
    assert world.names(NODE) == ["a-0", "a-0-0", "a-0-1", "a-1"]
    assert world.said("a") == world.said("a-0") == ("True", "Complete")


@pytest.mark.parametrize(
    "about",
    [
        {},
        {"annotations": FAKE},
        {"annotations": FAKE, "labels": {"machines.shiplift.dev/pool": "other"}},
        {"labels": {"machines.shiplift.dev/pool": "burst"}},
    ],
)
def test_a_node_of_somebody_else_is_left_alone_and_named(about: Json) -> None:
    world = World()
    world.node("burst-1", **about)
    world.cluster.made.clear()
    world.pool("burst", 2)
    assert stalled(world) == "NameTaken"
    assert "Node burst-1 is there and is not a simulated one of this pool" in world.message("burst")
    world.delete(NODE, "burst-1")
    world.settle()
    assert world.said("burst") == ("True", "Complete")


def test_a_machine_of_nobody_is_left_alone_and_named() -> None:
    world = World()
    world.machine("burst-0", "burst")
    world.cluster.made.clear()
    world.pool("burst", 2)
    assert stalled(world) == "NameTaken"
    assert "Machine burst-0 is there and belongs to no pool" in world.message("burst")
    world.delete(MACHINE, "burst-0")
    world.settle()
    assert world.said("burst") == ("True", "Complete")


def test_a_machine_of_an_earlier_pool_is_waited_for() -> None:
    world = World()
    gone = {"kind": "MachinePool", "name": "burst", "uid": "before", "controller": True}
    world.pool("burst", 1)
    world.machine("burst-0", "burst", ownerReferences=[{"apiVersion": "shiplift.dev/v1alpha1", **gone}])
    snap = Snap(world.cluster)
    decision = decide(view_of(snap, Outcomes(), {}), BEGUN)  # type: ignore[arg-type]
    assert decision.steps == ()
    (told,) = decision.pools
    assert "an earlier pool of this name" in told.status.message
    world.settle()
    assert world.said("burst") == ("True", "Complete")


# --- who leads ---


def test_a_pool_of_hosts_is_reported_and_left_to_the_laptop() -> None:
    world = World()
    world.pool("racks", hosts("rack-0", "rack-1", replicas=2))
    world.node("rack-0")
    world.settle()
    assert world.said("racks") == ("Unknown", "LaptopLeads")
    assert (world.said("racks", "Stalled"), world.said("racks", "Reconciling")) == (("", ""), ("", ""))
    assert "`shiplift bootstrap` leads these machines" in world.message("racks")
    assert world.status("racks")["ready"]["summary"] == "1/2"
    assert (world.names(MACHINE), world.names(NODE)) == ([], ["rack-0"])


# --- what is old, or cannot be read ---


def a_view(**more: Any) -> View:
    body = {
        "metadata": {"name": "burst", "uid": "u", "generation": 1, "resourceVersion": "1"},
        "spec": spec(2),
    }
    return View(pools=(row_of(MACHINE_POOL, body),), **more)


@pytest.mark.parametrize("kind", [MACHINE_POOL, MACHINE, NODE])
def test_nothing_is_done_while_what_is_seen_may_be_old(kind: Any) -> None:
    assert decide(a_view(), BEGUN).steps
    old = decide(a_view(stale=(kind,)), BEGUN)
    assert (old.steps, old.pools) == ((), ())
    assert old.look_again_after is not None


def test_what_the_store_does_not_show_yet_makes_the_view_old() -> None:
    world = World()
    world.pool("burst", 1)
    snap = Snap(world.cluster)
    seen = view_of(snap, Outcomes(unsettled=(Seen(NODE, 5),)), {})  # type: ignore[arg-type]
    assert seen.stale == (NODE,)


@pytest.mark.parametrize("kind", [MACHINE, NODE])
def test_what_cannot_be_read_is_named_and_nothing_is_made(kind: Any) -> None:
    decision = decide(a_view(unreadable={(kind, "burst-1"): "spec.role: no"}), BEGUN)
    assert decision.steps == ()
    (told,) = decision.pools
    assert f"{kind} burst-1 cannot be read: spec.role: no" in told.status.message


def test_what_cannot_be_read_and_is_of_no_pool_holds_up_nobody() -> None:
    other = {(MACHINE, "else-1"): "no", (NODE, "burst-2"): "no"}
    assert len(decide(a_view(unreadable=other), BEGUN).steps) == 2


def test_a_refusal_is_told_and_tried_again_ever_more_slowly() -> None:
    from shiplift.engine.step import Outcome

    view = a_view()
    first = decide(view, BEGUN)
    refused = Outcomes().remember([Outcome.failed(one, "forbidden") for one in first.steps], BEGUN)
    decision = decide(a_view(outcomes=refused), BEGUN)
    assert decision.steps == ()
    assert decision.look_again_after is not None
    (told,) = decision.pools
    assert told.status.message == "write down machine burst-0 of pool burst: forbidden"
    assert {(one.type, one.reason) for one in told.status.conditions} == {
        ("Ready", "Refused"),
        ("Stalled", "Refused"),
    }


def test_a_foreign_node_beyond_what_is_asked_for_holds_up_nobody() -> None:
    assert len(decide(a_view(nodes={"burst-2": make(Node, "burst-2")}), BEGUN).steps) == 2


def test_a_node_whose_label_somebody_took_off_is_told_how_to_get_it_back() -> None:
    world = World()
    world.pool("burst", 2)
    world.settle()
    node = world.of(NODE)["burst-1"]
    labels = {key: value for key, value in node["metadata"]["labels"].items() if key != POOL_LABEL}
    world.cluster.put(NODE, "", {**node, "metadata": {**node["metadata"], "labels": labels}})
    world.round()
    assert "`kubectl label --overwrite node burst-1 machines.shiplift.dev/pool=burst`" in world.message(
        "burst"
    )


def test_a_node_without_its_machine_is_named() -> None:
    world = World()
    world.pool("burst", 3)
    world.settle()
    world.edit("burst", replicas=2)
    world.settle()
    world.delete(MACHINE, "burst-2")
    world.settle()
    assert "1 node of the pool without a machine: burst-2" in world.message("burst")
