"""What is done with machines, one situation at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from shiplift.api.machines import MachinePhase, Role, Software
from shiplift.machines.decide.decision import decide
from shiplift.machines.foresee import plan
from shiplift.machines.model import CommandState, Mark, Node, Purpose, Reason, Silent
from shiplift.machines.pools import AgentPackage, read
from tests.machines.world import START, Laptop, World, bare, names, pool, wanted


def laptop(control_planes: int = 1, workers: int = 2, **more: object) -> Laptop:
    asked = wanted(control_planes, workers, **more)  # type: ignore[arg-type]
    return Laptop(World(*names(asked)), asked)


def told(found: Laptop) -> dict[str, str]:
    return {one.machine.name: f"{one.phase} {one.reason}" for one in found.decide().told}


def test_bare_hosts_become_a_cluster() -> None:
    found = laptop(3, 2)
    decision = found.finish()
    assert (decision.complete, decision.message) == (True, "5 of 5 machines are part of the cluster")
    assert found.world.nodes == {"cp-1", "cp-2", "cp-3", "w-1", "w-2"}
    assert found.world.judged == []
    assert [name for name, purpose in found.world.begun if purpose is Purpose.INIT] == ["cp-1"]
    assert [name for name, purpose in found.world.begun if purpose is Purpose.JOIN] == [
        "cp-2",
        "cp-3",
        "w-1",
        "w-2",
    ]


def test_the_plan_says_what_is_done_in_order() -> None:
    lines, end = plan(laptop(1, 1).view(), START)
    assert end.complete
    assert lines == [
        "take machine cp-1 for pool control-plane: the cluster begins there",
        "take machine w-1 for pool workers",
        "install and start the agent 0.2.0 on machine cp-1",
        "install and start the agent 0.2.0 on machine w-1",
        "install kubelet 1.36.3, kubeadm 1.36.3, kubectl 1.36.3 on machine cp-1",
        "install kubelet 1.36.3, kubeadm 1.36.3, kubectl 1.36.3 on machine w-1",
        "restart machine cp-1",
        "restart machine w-1",
        "begin the cluster on machine cp-1",
        "apply the pod network network.yaml",
        "let machine w-1 join as a worker",
    ]


def test_where_the_cluster_begins_is_on_record_before_anything_else() -> None:
    found = laptop(3, 1)
    first = found.round(tick=False)
    assert [step.describe() for step in first.steps] == [
        "take machine cp-1 for pool control-plane: the cluster begins there"
    ]
    marks = {name: facts.mark for name, facts in found.world.machines.items()}
    assert [name for name, mark in marks.items() if mark] == ["cp-1"]


def test_a_second_run_finds_everything_done_and_does_nothing() -> None:
    found = laptop(1, 2)
    found.finish()
    begun = list(found.world.begun)
    again = Laptop(found.world, found.asked).finish()
    assert (again.complete, found.world.begun) == (True, begun)


def test_machines_that_are_added_join_the_cluster_that_is_there() -> None:
    small = laptop(1, 1)
    small.finish()
    asked = wanted(3, 3)
    for name in set(names(asked)) - set(small.world.machines):
        small.world.machines[name] = bare(name)
    assert Laptop(small.world, asked).finish().complete
    assert small.world.nodes == set(names(asked))
    assert small.world.judged == []


def test_growing_from_one_control_plane_while_it_is_silent_begins_no_second_cluster() -> None:
    small = laptop(1, 0)
    small.finish()
    begun = list(small.world.begun)
    asked = wanted(3, 0)
    small.world.machines |= {name: bare(name) for name in ("cp-2", "cp-3")}
    small.world.take_down("cp-1")
    grown = Laptop(small.world, asked)
    assert not grown.decide().over
    decision = grown.finish()
    assert (decision.reason, decision.steps) == (Reason.CONTROL_PLANE_SILENT, ())
    assert decision.message == (
        "whether a cluster has begun is not known: host cp-1 does not answer: connection refused"
    )
    assert small.world.begun == begun


def test_a_silent_worker_that_knows_of_no_cluster_holds_nobody_up() -> None:
    found = laptop(1, 2)
    found.world.take_down("w-2")
    decision = found.finish()
    assert decision.reason is Reason.INCOMPLETE
    assert decision.message == (
        "2 of 3 machines are part of the cluster; w-2: does not answer: connection refused"
    )
    assert found.world.nodes == {"cp-1", "w-1"}


def test_the_first_machine_silent_before_the_cluster_exists_stops_everything() -> None:
    found = laptop(3, 1)
    for _ in range(4):
        found.round()
    found.world.take_down("cp-1")
    again = Laptop(found.world, found.asked)
    decision = again.finish()
    assert decision.reason is Reason.FIRST_SILENT
    assert decision.hint == "bring it back: a second cluster is never begun"
    found.world.bring_back()
    assert Laptop(found.world, found.asked).finish().complete
    assert found.world.judged == []


def test_the_first_machine_silent_after_the_cluster_exists_is_named_and_others_join() -> None:
    small = laptop(3, 0)
    small.finish()
    small.world.machines["w-1"] = bare("w-1")
    small.world.take_down("cp-1")
    decision = Laptop(small.world, wanted(3, 1)).finish()
    assert decision.reason is Reason.INCOMPLETE
    assert small.world.nodes == {"cp-1", "cp-2", "cp-3", "w-1"}


def test_spare_hosts_take_the_place_of_silent_ones() -> None:
    file = pool("control-plane", "ControlPlane", 1, ["cp-1"]) + pool(
        "workers", "Worker", 1, ["w-1", "w-2"], 100
    )
    asked = replace(wanted(), pools=read(file.encode()).pools)
    world = World(*names(asked))
    world.take_down("w-1")
    assert Laptop(world, asked).finish().complete
    assert world.nodes == {"cp-1", "w-2"}


@pytest.mark.parametrize("purpose", [Purpose.SOFTWARE, Purpose.RESTART, Purpose.JOIN])
def test_a_command_that_fails_is_named_and_tried_again_by_the_next_run(purpose: Purpose) -> None:
    found = laptop(1, 2)
    found.world.fails[("w-1", purpose)] = 1
    decision = found.finish()
    assert decision.reason is Reason.INCOMPLETE
    assert f"{purpose}-1 ended with exit code 1: it says why" in decision.message
    assert found.world.nodes == {"cp-1", "w-2"}
    assert Laptop(found.world, found.asked).finish().complete


def test_an_init_that_failed_and_left_something_is_never_begun_again() -> None:
    found = laptop(1, 1)
    found.world.fails[("cp-1", Purpose.INIT)] = 1
    for run in (found, Laptop(found.world, found.asked)):
        decision = run.finish()
        assert (
            "cp-1: begin the cluster on machine cp-1: kubeadm init did not come to its end"
            in decision.message
        )
    assert found.world.judged == []


def test_an_init_that_failed_and_left_nothing_is_tried_again_by_the_next_run() -> None:
    found = laptop(1, 0)
    found.world.fails[("cp-1", Purpose.INIT)] = 1
    found.finish()
    found.world.machines["cp-1"] = replace(found.world.machines["cp-1"], kubeadm=False)
    found.world.begun.clear()
    assert Laptop(found.world, found.asked).finish().complete


@pytest.mark.parametrize("name", ["cp-1", "w-1"])
def test_software_that_was_added_after_an_init_or_a_join_failed_is_installed_first(name: str) -> None:
    purpose = Purpose.INIT if name == "cp-1" else Purpose.JOIN
    found = laptop(1, 1)
    found.world.fails[(name, purpose)] = 1
    found.finish()
    found.world.machines[name] = replace(found.world.machines[name], kubeadm=False)
    found.world.begun.clear()
    pools = tuple(
        replace(one, spec=replace(one.spec, software=(Software(name="containerd", version="1.7.24~ds1-6"),)))
        for one in found.asked.pools
    )
    assert Laptop(found.world, replace(found.asked, pools=pools)).finish().complete
    assert [one for machine, one in found.world.begun if machine == name][:3] == [
        Purpose.SOFTWARE,
        Purpose.RESTART,
        purpose,
    ]


def test_a_control_plane_whose_join_was_cut_off_is_looked_at_by_a_person() -> None:
    found = laptop(3, 1)
    found.world.fails[("cp-2", Purpose.JOIN)] = 1
    while not any(purpose is Purpose.JOIN for _, purpose in found.world.begun):
        found.round(tick=False)
        found.round()
    found.world.machines["cp-2"] = replace(found.world.machines["cp-2"], kubeadm=True)
    decision = found.finish()
    assert "look whether etcd has a member cp-2" in decision.hint
    assert found.world.nodes == {"cp-1", "cp-3", "w-1"}


def test_a_lost_command_is_tried_again_at_once_and_not_for_ever() -> None:
    found = laptop(1, 1)
    for _ in range(40):
        found.round(tick=False)
        last = found.world.machines["w-1"].last("agent")
        if last is not None and last.state is CommandState.RUNNING:
            found.world.power_cut("w-1")
    lost = [one for one in found.world.machines["w-1"].commands if one.state is CommandState.LOST]
    assert len(lost) == 3
    assert told(found)["w-1"] == "Failed CommandFailed"


def test_software_that_was_changed_after_the_restart_wants_another() -> None:
    found = laptop(1, 0)
    while found.world.machines["cp-1"].last("restart") is None:
        found.round()
    packages = {**found.world.machines["cp-1"].packages, "kubelet": "1.35.0-1.1"}
    found.world.machines["cp-1"] = replace(found.world.machines["cp-1"], packages=packages)
    Laptop(found.world, found.asked).finish()
    kinds = [one.purpose for one in found.world.machines["cp-1"].commands]
    assert kinds[:3] == ["agent", "software", "restart"]
    assert kinds.index("init") > max(number for number, kind in enumerate(kinds) if kind == "restart")


def test_what_is_in_the_cluster_is_not_installed_again() -> None:
    found = laptop(1, 1)
    found.finish()
    begun = list(found.world.begun)
    for name, facts in found.world.machines.items():
        packages = {"kubelet": "1.37.0-1.1", "shiplift-agent": "0.2.0"}
        found.world.machines[name] = replace(facts, packages=packages)
    assert Laptop(found.world, found.asked).finish().complete
    assert found.world.begun == begun


def test_a_node_whose_journal_is_gone_is_neither_restarted_nor_joined_again() -> None:
    found = laptop(3, 1)
    found.finish()
    begun = list(found.world.begun)
    for name in ("cp-2", "w-1"):
        found.world.machines[name] = replace(found.world.machines[name], commands=())
    assert Laptop(found.world, found.asked).finish().complete
    assert found.world.begun == begun


def test_a_worker_whose_join_was_lost_at_its_end_is_not_reset() -> None:
    found = laptop(1, 1)
    found.finish()
    begun = list(found.world.begun)
    _lose_join(found, "w-1")
    assert Laptop(found.world, found.asked).finish().complete
    assert found.world.begun == begun


def test_a_control_plane_whose_join_was_lost_is_not_believed_though_its_node_is_ready() -> None:
    found = laptop(3, 0)
    found.finish()
    _lose_join(found, "cp-3")
    decision = Laptop(found.world, found.asked).finish()
    assert {one.machine.name: one.reason for one in decision.told}["cp-3"] is Reason.JOIN_CUT_OFF


def _lose_join(found: Laptop, name: str) -> None:
    facts = found.world.machines[name]
    commands = tuple(
        replace(one, state=CommandState.LOST, code=None) if one.purpose == Purpose.JOIN else one
        for one in facts.commands
    )
    found.world.machines[name] = replace(facts, commands=commands)


def test_a_machine_that_somebody_else_joined_elsewhere_is_not_reset() -> None:
    found = laptop(1, 1)
    while found.world.machines["w-1"].last("restart") is None:
        found.round()
    found.world.machines["w-1"] = replace(found.world.machines["w-1"], kubeadm=True)
    decision = found.finish()
    assert "machine w-1 was made part of a cluster by somebody else" in decision.message
    assert ("w-1", Purpose.JOIN) not in found.world.begun


def without_agent(found: Laptop, name: str) -> None:
    facts = found.world.machines[name]
    packages = {one: version for one, version in facts.packages.items() if one != "shiplift-agent"}
    found.world.machines[name] = replace(facts, packages=packages)


def test_every_machine_gets_the_agent_before_its_software() -> None:
    found = laptop(1, 1)
    found.finish()
    for name in ("cp-1", "w-1"):
        purposes = [purpose for machine, purpose in found.world.begun if machine == name]
        assert purposes[:3] == [Purpose.AGENT, Purpose.SOFTWARE, Purpose.RESTART]


def test_a_node_that_has_no_agent_gets_one_and_nothing_else() -> None:
    found = laptop(1, 1)
    found.finish()
    begun = list(found.world.begun)
    without_agent(found, "w-1")
    assert Laptop(found.world, found.asked).finish().complete
    assert found.world.begun == [*begun, ("w-1", Purpose.AGENT)]
    assert found.world.machines["w-1"].packages["shiplift-agent"] == "0.2.0"


def test_the_version_of_a_nodes_agent_is_left_to_a_rollout() -> None:
    found = laptop(1, 1)
    found.finish()
    begun = list(found.world.begun)
    later = replace(found.asked, agent=AgentPackage("0.3.0", b"other", "d3"))
    assert Laptop(found.world, later).finish().complete
    assert found.world.begun == begun


def test_an_agent_that_cannot_be_installed_is_named_and_holds_up_no_other() -> None:
    found = laptop(1, 2)
    found.world.fails["w-1", Purpose.AGENT] = 1
    decision = found.finish()
    assert decision.reason is Reason.INCOMPLETE
    assert (
        "w-1: install and start the agent 0.2.0 on machine w-1: agent-1 ended with exit" in decision.message
    )
    assert found.world.nodes == {"cp-1", "w-2"}
    assert Laptop(found.world, found.asked).finish().complete


def test_fewer_replicas_remove_nothing_and_say_so() -> None:
    found = laptop(1, 2)
    found.finish()
    asked = wanted(1, 2)
    workers = replace(asked.pools[1], spec=replace(asked.pools[1].spec, replicas=1))
    decision = Laptop(found.world, replace(asked, pools=(asked.pools[0], workers))).finish()
    assert decision.reason is Reason.REMOVAL_NOT_DONE
    assert decision.hint == "bootstrap adds machines and removes none"
    assert found.world.nodes == {"cp-1", "w-1", "w-2"}


def test_a_node_of_that_name_that_is_another_machine_is_not_taken_for_it() -> None:
    found = laptop(1, 1)
    found.finish()
    nodes = (
        Node(name="cp-1", machine_id="id-cp-1", ready=True),
        Node(name="w-1", machine_id="x", ready=True),
    )
    found.world.machines["cp-1"] = replace(found.world.machines["cp-1"], nodes=nodes)
    decision = Laptop(found.world, found.asked).finish()
    assert decision.message.endswith("w-1: node w-1 is another machine's")


def test_without_a_pod_network_nodes_are_not_waited_for_to_be_ready() -> None:
    found = laptop(1, 1, network=None)
    decision = found.finish()
    assert decision.complete
    assert told(found)["w-1"] == "Joined Joined"


def test_a_node_that_does_not_get_ready_is_named_after_its_time() -> None:
    found = laptop(1, 1)
    found.finish()
    nodes = tuple(replace(one, ready=one.name != "w-1") for one in found.world.machines["cp-1"].nodes or ())
    found.world.machines["cp-1"] = replace(found.world.machines["cp-1"], nodes=nodes)
    assert told(found)["w-1"] == "Joining NotReady"
    found.world.now += timedelta(minutes=11)
    assert told(found)["w-1"] == "Failed NotReady"


def test_a_host_key_that_changed_is_final_at_once() -> None:
    found = laptop(1, 1)
    view = found.view()
    silent = Silent("its host key is another one", START, final=True)
    view = replace(view, hosts={**view.hosts, "cp-1": silent})
    assert decide(view, START).over


MARK = Mark(cluster="c", first="cp-1", name="cp-1", pool="control-plane", role=Role.CONTROL_PLANE)


@pytest.mark.parametrize(
    ("name", "change", "reason", "message"),
    [
        ("w-1", {"kubeadm": True}, Reason.OTHER_CLUSTER, "machine w-1 is part of another cluster"),
        ("w-1", {"joined": True}, Reason.OTHER_CLUSTER, "machine w-1 is part of another cluster"),
        (
            "cp-1",
            {"memory_mib": 1024},
            Reason.TOO_LITTLE_MEMORY,
            "machine cp-1 has 1024 MiB of memory, and needs 1700",
        ),
        (
            "w-1",
            {"memory_mib": 256},
            Reason.TOO_LITTLE_MEMORY,
            "machine w-1 has 256 MiB of memory, and needs 512",
        ),
        ("w-1", {"root": False}, Reason.NOT_ROOT, "user root is not root on machine w-1"),
        ("w-1", {"apt": False}, Reason.NO_APT, "machine w-1 has no apt"),
        (
            "w-1",
            {"machine_id": "id-cp-1"},
            Reason.ONE_MACHINE_TWICE,
            "hosts cp-1 and w-1 are one machine: id-cp-1",
        ),
        (
            "w-1",
            {"mark_error": "it is no JSON"},
            Reason.MARK_UNREADABLE,
            "the mark on machine w-1 cannot be read: it is no JSON",
        ),
        (
            "w-1",
            {"mark": replace(MARK, name="w-1", pool="others", role=Role.WORKER)},
            Reason.OTHER_POOL,
            "machine w-1 of pool workers with role Worker was taken as w-1 of pool others with role Worker",
        ),
    ],
)
def test_what_is_wrong_with_a_machine_is_named_and_nothing_is_done(
    name: str, change: dict[str, object], reason: Reason, message: str
) -> None:
    found = laptop(1, 2)
    found.world.machines[name] = replace(found.world.machines[name], **change)
    decision = found.decide()
    assert (decision.steps, decision.over, decision.reason, decision.message) == ((), True, reason, message)
    assert decision.hint


def test_an_unfit_machine_that_answers_late_fails_alone() -> None:
    found = laptop(1, 2)
    found.world.take_down("w-2")
    found.world.machines["w-2"] = bare("w-2", memory=300)
    found.round()
    found.world.bring_back()
    assert told(found)["w-2"] == "Failed TooLittleMemory"
    decision = found.finish()
    assert decision.message == (
        "2 of 3 machines are part of the cluster; w-2: machine w-2 has 300 MiB of memory, and needs 512"
    )
    assert decision.hint == "give it more, or leave it out"


def test_machines_of_two_clusters_are_told_apart() -> None:
    found = laptop(1, 2)
    found.world.machines["cp-1"] = replace(found.world.machines["cp-1"], mark=MARK)
    other = replace(MARK, cluster="d", name="w-2", pool="workers", role=Role.WORKER)
    found.world.machines["w-2"] = replace(found.world.machines["w-2"], mark=other)
    assert found.decide().message == "machines cp-1 and w-2 belong to different clusters"


def test_a_joined_machine_with_another_ca_is_named() -> None:
    found = laptop(1, 1)
    found.finish()
    for name, ca in (("cp-1", "one"), ("w-1", "other")):
        found.world.machines[name] = replace(found.world.machines[name], ca=ca)
    assert found.decide().message == "machines cp-1 and w-1 are part of different clusters"


def test_the_endpoint_of_a_cluster_stays() -> None:
    found = laptop(1, 0)
    found.finish()
    server = "https://10.0.0.10:6443"
    found.world.machines["cp-1"] = replace(found.world.machines["cp-1"], server=server)
    decision = found.decide()
    assert decision.message == (
        "the cluster is at 10.0.0.10:6443, and its controlPlaneEndpoint is to be api.example.test:6443"
    )


def test_nobody_answers() -> None:
    found = laptop(1, 1)
    for name in ("cp-1", "w-1"):
        found.world.take_down(name)
    assert found.decide().reason is Reason.NO_HOST_ANSWERS
    decision = found.finish()
    assert decision.message == "no host answers; cp-1: connection refused"


def test_a_machine_that_never_comes_back_from_its_restart_is_named() -> None:
    found = laptop(1, 1)
    while found.world.machines["w-1"].last("restart") is None:
        found.round()
    found.round(tick=False)
    found.world.take_down("w-1")
    assert told(found)["w-1"] == f"{MachinePhase.INITIALISING} Restarting"
    found.world.now += timedelta(minutes=11)
    assert told(found)["w-1"] == "Failed Silent"
    assert found.finish().reason is Reason.INCOMPLETE
    assert found.world.nodes == {"cp-1"}


def test_a_control_plane_whose_journal_is_damaged_stops_all_of_it() -> None:
    found = laptop(1, 1)
    found.round()
    found.world.machines["cp-1"] = replace(
        found.world.machines["cp-1"], journal_error="init-1/exit.json: gone"
    )
    decision = found.decide()
    assert (decision.reason, decision.over, decision.steps) == (Reason.JOURNAL_UNREADABLE, True, ())
    assert decision.message == "the journal of machine cp-1 cannot be read: init-1/exit.json: gone"
    assert "remove its folder" in decision.hint


def test_a_worker_whose_journal_is_damaged_fails_alone() -> None:
    found = laptop(1, 2)
    found.world.machines["w-2"] = replace(
        found.world.machines["w-2"], journal_error="join-1/record.json: gone"
    )
    decision = found.finish()
    assert (decision.reason, found.world.nodes) == (Reason.INCOMPLETE, {"cp-1", "w-1"})
    assert decision.message == (
        "2 of 3 machines are part of the cluster;"
        " w-2: the journal of machine w-2 cannot be read: join-1/record.json: gone"
    )
    assert not [purpose for name, purpose in found.world.begun if name == "w-2"]
