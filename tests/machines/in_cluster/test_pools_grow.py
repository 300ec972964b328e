"""Pools of simulated machines: they are made, they grow, what is lost is made again, nothing is removed."""

from __future__ import annotations

from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from shiplift.machines.in_cluster.decide.decision import AT_ONCE
from tests.machines.in_cluster.world import World, spec

THREE = ["burst-0", "burst-1", "burst-2"]


def grown(replicas: int = 3, **more: object) -> World:
    world = World()
    world.pool("burst", spec(replicas, **more))
    world.settle()
    return world


def test_every_machine_is_written_down_before_its_node_is_made() -> None:
    world = World()
    world.pool("burst", 3)
    world.round()
    assert (world.names(MACHINE), world.names(NODE)) == (THREE, [])
    assert world.said("burst") == ("False", "Making")
    world.settle()
    assert (world.names(MACHINE), world.names(NODE)) == (THREE, THREE)
    assert world.cluster.wrong == []


def test_a_pool_that_is_complete_says_so() -> None:
    world = grown()
    assert world.said("burst") == ("True", "Complete")
    assert world.message("burst") == "3 machines with a node that is Ready"
    told = {key: world.status("burst").get(key) for key in ("replicas", "initialised", "joined")}
    assert told == {"replicas": 3, "initialised": 3, "joined": 3}
    assert world.status("burst")["ready"] == {"done": 3, "total": 3, "summary": "3/3"}
    assert "burst Complete" in world.ears.heard


def test_a_machine_belongs_to_its_pool_and_says_where_it_is() -> None:
    world = grown(1)
    machine, pool = world.of(MACHINE)["burst-0"], world.of(MACHINE_POOL)["burst"]
    (owner,) = machine["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "MachinePool",
        pool["metadata"]["uid"],
        True,
    )
    assert machine["spec"] == {"pool": "burst", "role": "Worker", "provider": "Kwok"}
    status = machine["status"]
    assert (status["phase"], status["reason"], status["node"]) == ("Joined", "Joined", "burst-0")
    assert status["initialised"] is True
    assert status["addresses"][1] == "burst-0"


def test_a_node_is_simulated_and_has_what_its_pool_says() -> None:
    taints = [{"key": "gpu", "effect": "NoSchedule", "value": "yes"}]
    kwok = {"cpu": "2", "memory": "8Gi", "pods": 20, "zones": ["a", "b"]}
    node = grown(3, labels={"disk": "ssd"}, taints=taints, kwok=kwok).of(NODE)["burst-1"]
    labels = node["metadata"]["labels"]
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert (labels["disk"], labels["machines.shiplift.dev/pool"]) == ("ssd", "burst")
    assert labels["topology.kubernetes.io/zone"] == "b"
    assert labels["kubernetes.io/hostname"] == "burst-1"
    assert node["spec"]["taints"] == taints
    assert node["status"]["capacity"]["cpu"] == "2"
    info = node["status"]["nodeInfo"]
    assert (info["kubeletVersion"], info["machineID"], info["bootID"]) == ("v1.36.3", "", "")


def test_a_control_plane_has_the_label_and_the_taint_that_kubeadm_gives() -> None:
    world = World()
    world.pool("cp", spec(1, role="ControlPlane"))
    world.settle()
    node = world.of(NODE)["cp-0"]
    assert "node-role.kubernetes.io/control-plane" in node["metadata"]["labels"]
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    assert node["spec"]["taints"] == [taint]


def test_more_replicas_add_machines_and_leave_the_others_alone() -> None:
    world = grown(2)
    before = {name: one["metadata"]["uid"] for name, one in world.of(NODE).items()}
    world.edit("burst", replicas=4)
    world.settle()
    assert world.names(MACHINE) == world.names(NODE) == [*THREE, "burst-3"]
    assert before.items() <= {name: one["metadata"]["uid"] for name, one in world.of(NODE).items()}.items()


def test_a_large_pool_grows_in_rounds_and_tells_how_far_it_is() -> None:
    world = World()
    world.pool("burst", 250)
    seen: list[int] = []
    for _ in range(12):
        world.round()
        seen.append(len(world.names(MACHINE)))
    assert seen[:3] == [100, 200, 250]
    world.settle()
    assert world.status("burst")["ready"]["summary"] == "250/250"


def test_a_node_that_somebody_deletes_is_made_again() -> None:
    world = grown()
    old = world.of(NODE)["burst-1"]["metadata"]["uid"]
    world.delete(NODE, "burst-1")
    world.settle()
    assert world.names(NODE) == THREE
    assert world.of(NODE)["burst-1"]["metadata"]["uid"] != old
    assert world.said("burst") == ("True", "Complete")


def test_a_machine_that_somebody_deletes_is_written_down_again_and_keeps_its_node() -> None:
    world = grown()
    node = world.of(NODE)["burst-1"]["metadata"]["uid"]
    world.delete(MACHINE, "burst-1")
    world.settle()
    assert world.names(MACHINE) == THREE
    assert world.of(NODE)["burst-1"]["metadata"]["uid"] == node
    assert world.of(MACHINE)["burst-1"]["status"]["node"] == "burst-1"


def test_fewer_replicas_remove_nothing_and_say_what_somebody_can_do() -> None:
    world = grown()
    world.edit("burst", replicas=2)
    world.settle()
    assert world.names(MACHINE) == world.names(NODE) == THREE
    assert world.said("burst", "Stalled") == ("True", "RemovalNotDone")
    told = world.message("burst")
    for word in (
        "burst-2",
        "shiplift drain burst-2",
        "kubectl delete node burst-2",
        "kubectl delete machine",
    ):
        assert word in told
    assert world.of(MACHINE)["burst-2"]["status"]["reason"] == "TooMany"


def test_what_somebody_removes_of_too_many_is_not_made_again() -> None:
    world = grown()
    world.edit("burst", replicas=2)
    world.settle()
    world.delete(NODE, "burst-2")
    world.settle()
    assert world.names(NODE) == THREE[:2]
    world.delete(MACHINE, "burst-2")
    world.settle()
    assert world.said("burst") == ("True", "Complete")
    world.edit("burst", replicas=3)
    world.settle()
    assert world.names(MACHINE) == world.names(NODE) == THREE


def test_who_removes_another_one_than_the_last_keeps_the_last() -> None:
    world = grown()
    world.edit("burst", replicas=2)
    world.delete(MACHINE, "burst-0")
    world.delete(NODE, "burst-0")
    world.settle()
    assert world.names(MACHINE) == world.names(NODE) == THREE[1:]
    assert world.said("burst") == ("True", "Complete")


def test_a_paused_pool_adds_nothing_and_goes_on_when_it_is_not() -> None:
    world = grown(1)
    world.edit("burst", replicas=3, paused=True)
    world.settle()
    assert world.names(MACHINE) == THREE[:1]
    assert world.said("burst") == ("False", "Paused")
    assert "2 machines (burst-1, burst-2)" in world.message("burst")
    world.edit("burst", paused=False)
    world.settle()
    assert world.names(NODE) == THREE


def test_a_node_that_is_not_ready_in_time_is_named_and_the_others_go_on() -> None:
    world = World()
    world.pool("burst", spec(3, joinTimeout="5m"))
    world.round()
    world.round()
    world.fall_ill("burst-1")
    world.settle()
    assert world.said("burst") == ("False", "Joining")
    assert world.status("burst")["ready"]["summary"] == "2/3"
    world.passes(minutes=6)
    world.settle()
    assert world.said("burst", "Stalled") == ("True", "NotReadyInTime")
    assert list(world.status("burst")["failed"]) == ["burst-1"]
    assert "does kwok run" in world.message("burst")
    assert world.of(MACHINE)["burst-1"]["status"]["phase"] == "Failed"
    world.fall_ill("burst-1", ill=False)
    world.settle()
    assert world.said("burst") == ("True", "Complete")
    assert "failed" not in world.status("burst")


def test_a_node_that_falls_ill_later_has_its_time_from_then_on() -> None:
    world = grown(2, joinTimeout="5m")
    world.passes(hours=3)
    world.fall_ill("burst-0")
    world.settle()
    assert world.said("burst") == ("False", "Joining")
    decision = world.round()
    assert decision is not None
    assert decision.look_again_after is not None
    assert decision.look_again_after.total_seconds() <= 300
    assert "burst NotReadyInTime" not in world.ears.heard


def test_no_node_is_made_for_a_machine_that_was_replaced_after_the_look() -> None:
    """By one that somebody wrote down by hand: it has the name, and is not the pool's."""
    world = World()
    world.pool("burst", 1)
    world.round()

    def replaced() -> None:
        world.delete(MACHINE, "burst-0")
        world.machine("burst-0", "burst")

    world.round(between=replaced)
    world.settle()
    assert world.names(NODE) == []
    assert world.said("burst", "Stalled") == ("True", "NameTaken")


def test_labels_that_are_changed_later_are_named_and_nobody_is_held_up() -> None:
    world = grown(2)
    world.edit("burst", labels={"disk": "ssd"})
    world.settle()
    assert world.said("burst") == ("True", "Complete")
    assert "labels or taints of the pool are not on 2 nodes: burst-0, burst-1" in world.message("burst")
    assert "disk" not in world.of(NODE)["burst-0"]["metadata"]["labels"]


def test_a_version_that_is_changed_later_is_not_told_as_if_the_nodes_had_it() -> None:
    world = grown(2)
    world.edit("burst", version="1.36.4")
    world.settle()
    assert world.said("burst") == ("True", "Complete")
    assert "2 nodes of another version than the pool's, 1.36.4: burst-0, burst-1" in world.message("burst")


def test_a_machine_of_a_paused_pool_does_not_say_that_its_node_is_being_made() -> None:
    world = grown(2)
    world.edit("burst", paused=True)
    world.delete(NODE, "burst-0")
    world.settle()
    machine = world.of(MACHINE)["burst-0"]["status"]
    assert (machine["phase"], machine["message"]) == ("Pending", "its pool is paused: its node is not made")


def test_a_node_that_was_ready_is_not_told_as_if_it_were_new() -> None:
    world = grown(2)
    world.passes(minutes=5)
    world.fall_ill("burst-1")
    for _ in range(3):
        world.round()
        assert "1 node not Ready any more: burst-1" in world.message("burst")
    assert world.of(MACHINE)["burst-1"]["status"]["message"] == "its node is not Ready any more"


def test_of_a_machine_too_many_that_has_no_node_only_the_machine_is_to_be_deleted() -> None:
    world = grown(3)
    world.edit("burst", replicas=2)
    world.settle()
    assert "`shiplift drain burst-2`, then `kubectl delete node burst-2`" in world.message("burst")
    world.delete(NODE, "burst-2")
    world.settle()
    assert "yet: `kubectl delete machine burst-2` removes one" in world.message("burst")


def test_two_deletions_are_no_fight_and_the_third_is_counted_as_such() -> None:
    world = grown()
    for _ in range(2):
        world.passes(minutes=1)
        world.delete(NODE, "burst-0")
        world.settle()
        assert world.said("burst") == ("True", "Complete")
    world.passes(minutes=1)
    world.delete(NODE, "burst-0")
    for _ in range(3):
        world.round()
    assert "soon after being made, 3 times so far: burst-0" in world.message("burst")


def test_a_deleted_pool_takes_its_machines_along_and_its_nodes_stay() -> None:
    world = grown(2)
    world.delete(MACHINE_POOL, "burst")
    world.settle()
    assert (world.names(MACHINE), world.names(NODE)) == ([], THREE[:2])
    world.pool("burst", 2)
    world.settle()
    assert (world.names(MACHINE), world.names(NODE)) == (THREE[:2], THREE[:2])


def test_a_pool_of_no_machines_is_complete() -> None:
    assert grown(0).said("burst") == ("True", "Complete")


def test_nothing_is_written_while_nothing_changes() -> None:
    world = grown()
    writes = world.writes
    for _ in range(5):
        world.round()
    assert world.writes == writes


def test_a_node_that_was_made_a_moment_ago_is_not_late() -> None:
    """However long its machine waited for it: the pool was paused."""
    world = World()
    world.pool("burst", 2)
    world.settle()
    world.edit("burst", paused=True)
    world.delete(NODE, "burst-1")
    world.round()
    world.passes(hours=1)
    world.round()
    world.edit("burst", paused=False)
    world.cluster.nature = lambda: None
    for _ in range(4):
        world.round()
        assert world.said("burst")[1] != "NotReadyInTime"
    world.passes(hours=1)
    world.round()
    assert world.said("burst")[1] == "NotReadyInTime"


def test_a_pool_that_is_large_holds_up_no_other() -> None:
    world = World()
    world.pool("a", 3 * AT_ONCE)
    world.pool("b", 3)
    world.round()
    assert {one for one in world.names(MACHINE) if one.startswith("b-")} == {"b-0", "b-1", "b-2"}


# --- somebody else at the nodes ---


def test_who_deletes_nodes_as_often_as_they_are_made_is_told_of_and_not_fought_at_full_speed() -> None:
    world = grown()
    world.passes(hours=1)
    made = world.cluster.made.count("Node burst-1")
    for _ in range(60):
        world.delete(NODE, "burst-1")
        world.round()
    assert 3 <= world.cluster.made.count("Node burst-1") - made <= 8
    assert world.said("burst", "Stalled") == ("True", "DeletedByOthers")
    assert "1 node deleted by somebody soon after being made" in world.message("burst")
    world.passes(seconds=40)
    world.round()
    world.passes(minutes=3)
    world.settle()
    assert world.said("burst") == ("True", "Complete"), "nobody deletes it any more"


def test_who_deletes_machines_as_often_as_they_are_made_is_told_of_and_not_fought_at_full_speed() -> None:
    world = grown()
    world.passes(hours=1)
    made = world.cluster.made.count("Machine burst-1")
    for _ in range(60):
        world.delete(MACHINE, "burst-1")
        world.round()
    assert 3 <= world.cluster.made.count("Machine burst-1") - made <= 8
    assert world.said("burst", "Stalled") == ("True", "DeletedByOthers")
    assert "1 machine deleted by somebody soon after being made" in world.message("burst")
    world.passes(seconds=40)
    world.round()
    world.passes(minutes=3)
    world.settle()
    assert world.said("burst") == ("True", "Complete"), "nobody deletes it any more"


def test_who_deletes_machines_with_their_nodes_is_not_fought_at_full_speed_either() -> None:
    """A machine that is written down again has another uid, and its node is counted with those before it."""
    world = grown()
    world.passes(hours=1)
    made = world.cluster.made.count("Node burst-1")
    for _ in range(60):
        world.delete(MACHINE, "burst-1")
        world.delete(NODE, "burst-1")
        world.round()
        world.round()
    assert world.cluster.made.count("Node burst-1") - made <= 8
    assert "1 machine and 1 node deleted by somebody" in world.message("burst")


def test_what_was_made_long_ago_is_not_remembered() -> None:
    world = grown()
    assert {"Machine burst-1", "Node burst-1"} <= set(world.cluster.made)
    assert len(world.look().changes) == 2 * len(world.names(MACHINE))
    world.passes(minutes=11)
    world.round()
    assert not world.look().changes


def test_a_node_that_is_deleted_now_and_then_is_no_fight() -> None:
    world = grown()
    for _ in range(5):
        world.passes(minutes=20)
        world.delete(NODE, "burst-1")
        world.settle()
        assert world.said("burst") == ("True", "Complete")


def test_a_node_that_is_on_its_way_out_hides_no_other_that_is_late() -> None:
    world = grown(joinTimeout="1m")
    world.leaves(NODE, "burst-0", "example.com/keep")
    world.fall_ill("burst-2")
    world.round()
    assert world.said("burst") == ("False", "Leaving")
    world.passes(seconds=61)
    world.settle()
    assert world.said("burst", "Stalled") == ("True", "NotReadyInTime")
    assert "1 node not Ready in 1m: burst-2" in world.message("burst")


def test_what_takes_too_long_to_go_is_told_with_its_finalizer() -> None:
    world = grown(joinTimeout="1m")
    world.leaves(NODE, "burst-0", "example.com/keep")
    decision = world.round()
    assert decision is not None
    assert world.said("burst", "Stalled")[0] != "True"
    world.passes(seconds=61)
    world.round()
    assert world.said("burst", "Stalled") == ("True", "Leaving")
    assert (
        "burst-0: on its way out, and made again when it is gone; finalizer example.com/keep holds node"
        " burst-0 for longer than the joinTimeout" in world.message("burst")
    )


def test_a_machine_of_an_earlier_pool_that_nobody_collects_is_told() -> None:
    world = World()
    earlier = {
        "apiVersion": MACHINE_POOL.api_version,
        "kind": MACHINE_POOL.kind,
        "name": "burst",
        "uid": "earlier",
        "controller": True,
    }
    world.pool("burst", 1)
    keep = world.cluster.nature
    world.cluster.nature = lambda: None  # type: ignore[method-assign] # no garbage collector
    world.machine("burst-0", "burst", ownerReferences=[earlier])
    world.round()
    assert world.said("burst") == ("False", "Leaving")
    world.passes(minutes=11)
    world.round()
    assert world.said("burst", "Stalled") == ("True", "Leaving")
    assert "nobody collects it" in world.message("burst")
    world.cluster.nature = keep  # type: ignore[method-assign]
    world.settle()
    assert world.said("burst") == ("True", "Complete")
