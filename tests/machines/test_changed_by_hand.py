"""Machines that somebody has installed anew or given back, commands that run while nobody hears of them:
never a second cluster, never two control planes at a time, nothing begun twice."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from msgspec.structs import replace

from shiplift.engine.step import Outcome, Outcomes
from shiplift.machines.decide.decision import decide
from shiplift.machines.decide.recorded import excerpt
from shiplift.machines.foresee import plan
from shiplift.machines.model import Bootstrapping, CommandState, Purpose, Reason, Silent, View
from shiplift.machines.names import AGENT as AGENT_NAME
from shiplift.machines.pools import AgentPackage, Manifest, Wanted, read
from shiplift.machines.steps import Run
from tests.machines.world import (
    AGENT,
    CLUSTER,
    NETWORK,
    START,
    Laptop,
    World,
    bare,
    names,
    pool,
    text,
    wanted,
)


def a_cluster(planes: int, workers: int) -> World:
    world = World(*names(wanted(planes, workers)))
    assert Laptop(world, wanted(planes, workers)).finish().complete
    return world


def rounds(laptop: Laptop, count: int = 40) -> tuple[Bootstrapping, list[Purpose]]:
    """The last decision, and what was run for it."""
    ran: list[Purpose] = []
    for _ in range(count):
        decision = laptop.round()
        ran += [one.purpose for one in decision.steps if isinstance(one, Run)]
        if decision.over:
            break
    return decision, ran


def test_a_first_machine_that_was_installed_anew_begins_no_second_cluster() -> None:
    world = a_cluster(3, 1)
    world.machines["cp-1"] = replace(bare("cp-1"), machine_id="new")
    decision, ran = rounds(Laptop(world, wanted(3, 1)))
    assert Purpose.INIT not in ran
    assert decision.over
    assert (decision.reason, decision.complete) == (Reason.INCOMPLETE, False)
    assert "node cp-1 is another machine's" in decision.message
    assert "`kubectl delete node cp-1`" in decision.hint


def test_it_joins_as_a_new_one_once_its_node_is_gone() -> None:
    world = a_cluster(3, 0)
    world.machines["cp-1"] = replace(bare("cp-1"), machine_id="new")
    for name in ("cp-2", "cp-3"):
        told = world.machines[name]
        kept = tuple(one for one in told.nodes or () if one.name != "cp-1")
        world.machines[name] = replace(told, nodes=kept)
    decision, ran = rounds(Laptop(world, wanted(3, 0)), 80)
    assert (decision.complete, decision.message) == (True, "3 of 3 machines are part of the cluster")
    assert Purpose.INIT not in ran
    assert Purpose.JOIN in ran


def test_where_the_only_control_plane_was_installed_anew_nothing_begins_and_nothing_is_complete() -> None:
    world = a_cluster(1, 1)
    world.machines["cp-1"] = replace(bare("cp-1"), machine_id="new")
    world.now += timedelta(hours=1)
    decision, ran = rounds(Laptop(world, wanted(1, 1)), 200)
    assert Purpose.INIT not in ran
    assert (decision.over, decision.reason) == (True, Reason.INCOMPLETE)


def test_a_first_machine_whose_journal_is_gone_is_told_by_its_node() -> None:
    world = a_cluster(1, 1)
    world.machines["cp-1"] = replace(world.machines["cp-1"], commands=())
    decision, ran = rounds(Laptop(world, wanted(1, 1)))
    assert Purpose.INIT not in ran
    assert all("kubeadm init did not come to its end" not in one.message for one in decision.told)


def joining(planes: int = 3) -> tuple[World, Laptop]:
    """The second control plane joins, and has not ended."""
    world = World(*names(wanted(planes, 0)))
    laptop = Laptop(world, wanted(planes, 0))
    while world.machines["cp-2"].last("join") is None:
        laptop.round()
    for _ in range(2):
        laptop.round(tick=False)
    last = world.machines["cp-2"].last("join")
    assert last is not None
    assert last.state is CommandState.RUNNING
    return world, laptop


def test_a_control_plane_that_is_silent_while_it_joins_keeps_its_turn() -> None:
    world, laptop = joining()
    world.take_down("cp-2")
    world.now += timedelta(seconds=61)
    for _ in range(4):
        decision = laptop.round(tick=False)
    assert world.machines["cp-3"].last("join") is None
    assert {one.machine.name: one.message for one in decision.told}[
        "cp-3"
    ] == "control plane cp-2 joins first"
    assert world.judged == []


def test_it_keeps_its_turn_for_a_run_that_has_never_heard_of_it() -> None:
    world, _ = joining()
    world.take_down("cp-2")
    later = Laptop(world, wanted(3, 0))
    for _ in range(30):
        decision = later.round(tick=False)
        world.now += timedelta(seconds=5)
    assert world.machines["cp-3"].last("join") is None
    assert {one.machine.name: one.message for one in decision.told}[
        "cp-3"
    ] == "control plane cp-2 joins first"
    assert world.judged == []
    world.now += timedelta(hours=1)
    for _ in range(3):
        later.round(tick=False)
    assert world.machines["cp-3"].last("join") is not None


class Refused(Laptop):
    """Bootstrap, where one control plane lets nobody join."""

    by = "cp-1"
    outcomes = Outcomes()

    def view(self) -> View:
        return replace(super().view(), outcomes=self.outcomes)

    def round(self, most: int = 99, *, tick: bool = True) -> Bootstrapping:
        view, found = self.view(), list[Outcome]()
        decision = decide(view, self.world.now)
        for step in decision.steps[:most]:
            if isinstance(step, Run) and step.via == self.by:
                found.append(Outcome.refused(step, f"control plane {self.by}: no space left on device"))
            else:
                self.world.act(view, step)
                found.append(Outcome.done(step))
        self.outcomes = self.outcomes.remember(found, self.world.now)
        if tick:
            self.world.tick(view)
        return decision


@pytest.mark.parametrize("by", ["cp-1", "cp-2"])
def test_where_one_control_plane_lets_nobody_join_another_is_asked(by: str) -> None:
    world = a_cluster(3, 0)
    world.machines["w-1"] = bare("w-1")
    laptop = Refused(world, wanted(3, 1))
    laptop.by = by
    assert laptop.finish().complete


def test_what_still_runs_when_its_time_is_over_is_not_begun_again() -> None:
    world, laptop = joining()
    world.now += timedelta(hours=3)
    for _ in range(4):
        decision = laptop.round(tick=False)
    last = world.machines["cp-2"].last("join")
    assert last is not None
    assert last.attempt == 1
    told = {one.machine.name: one.message for one in decision.told}["cp-2"]
    assert "join-1 still runs, and should have ended" in told


def test_nothing_is_added_to_a_pool_that_is_paused() -> None:
    world = a_cluster(1, 1)
    asked = wanted(1, 2)
    pools = tuple(
        replace(one, spec=replace(one.spec, paused=True)) if one.metadata.name == "workers" else one
        for one in asked.pools
    )
    paused = replace(asked, pools=pools)
    world.machines["w-2"] = bare("w-2")
    decision, ran = rounds(Laptop(world, paused))
    assert (decision.complete, ran) == (True, [])
    assert "pool workers is paused: no machine is added to it" in decision.notes


def test_a_pool_that_is_paused_may_have_begun_a_cluster_all_the_same() -> None:
    """Its host is silent for a moment, and two more control planes are asked for."""

    def asked(**more: str) -> Wanted:
        old = pool("a", "ControlPlane", 1, ["cp-1"], 10, **more)
        new = pool("b", "ControlPlane", 1, ["cp-2"], 20) + pool("c", "ControlPlane", 1, ["cp-3"], 30)
        return replace(read((old + new + CLUSTER).encode()), network=NETWORK, agent=AGENT)

    world = a_cluster(1, 0)
    world.machines |= {"cp-2": bare("cp-2"), "cp-3": bare("cp-3")}
    world.take_down("cp-1")
    decision = Laptop(world, asked(paused="true")).finish()
    assert decision.reason is Reason.CONTROL_PLANE_SILENT
    assert world.judged == []


def test_no_cluster_begins_while_its_control_planes_are_paused() -> None:
    file = pool("control-plane", "ControlPlane", 1, ["cp-1"], paused="true") + CLUSTER
    asked = replace(read(file.encode()), agent=AGENT)
    decision = Laptop(World("cp-1"), asked).decide()
    assert (decision.over, decision.reason, decision.steps) == (True, Reason.PAUSED, ())
    assert decision.message == "no cluster begins: every pool with role ControlPlane is paused"


def test_what_is_told_of_an_installation_stays_the_same_while_it_is_under_way() -> None:
    asked = wanted(1, 0)
    world = World(*names(asked))
    laptop = Laptop(world, asked)
    while world.machines["cp-1"].last("software") is None:
        laptop.round()
    begun = laptop.round(tick=False).told[0].message
    world.machines["cp-1"] = replace(
        world.machines["cp-1"], packages={AGENT_NAME: "0.2.0", "kubelet": "1.36.3-1"}
    )
    later = laptop.decide().told[0].message
    assert begun == later == "install kubelet 1.36.3, kubeadm 1.36.3, kubectl 1.36.3 on machine cp-1"


def test_no_kubelet_comes_before_its_control_plane() -> None:
    world = a_cluster(1, 1)
    later = read(text(1, 2).replace("version: 1.36.3", "version: 1.37.0").encode())
    world.machines["w-2"] = bare("w-2")
    decision, ran = rounds(Laptop(world, later))
    assert ran == []
    assert "w-2: kubelet v1.37.0 would be ahead of the control plane, which runs v1.36.3" in decision.message


def test_no_kubelet_that_its_software_names_comes_before_its_control_plane() -> None:
    """The file is of one minor; the cluster is older than that, and the kubelet is what comes first."""
    world = a_cluster(1, 0)
    world.machines["w-1"] = bare("w-1")
    software = "[{name: kubelet, version: 1.37.1-1.1}]"
    planes = pool("control-plane", "ControlPlane", 1, ["cp-1"]).replace("1.36.3", "1.37.1")
    later = planes + pool("workers", "Worker", 1, ["w-1"], 100, software=software) + CLUSTER
    decision, ran = rounds(Laptop(world, read(later.encode())))
    assert ran == []
    assert "w-1: kubelet v1.37.1 would be ahead of the control plane, which runs v1.36.3" in decision.message


def test_a_worker_whose_join_failed_and_whose_node_works_is_left_alone() -> None:
    world = a_cluster(1, 1)
    worker = world.machines["w-1"]
    commands = tuple(replace(one, code=1) if one.purpose == "join" else one for one in worker.commands)
    world.machines["w-1"] = replace(worker, commands=commands)
    world.now += timedelta(days=7)
    decision, ran = rounds(Laptop(world, wanted(1, 1)))
    assert (decision.complete, ran) == (True, [])


def test_the_cluster_has_not_begun_while_its_init_still_runs() -> None:
    """Its node may be there before kubeadm has ended: nobody joins yet."""
    world = a_cluster(1, 1)
    first, worker = world.machines["cp-1"], bare("w-1")
    commands = tuple(
        replace(one, state=CommandState.RUNNING, code=None) if one.purpose == "init" else one
        for one in first.commands
        if one.purpose not in ("network", "admit-w-1")
    )
    world.machines["cp-1"] = replace(first, commands=commands)
    world.machines["w-1"] = replace(worker, mark=world.machines["w-1"].mark)
    decision = Laptop(world, wanted(1, 1)).round(tick=False)
    told = {one.machine.name: one.reason for one in decision.told}
    assert told["cp-1"] is Reason.INIT_RUNNING


# --- spares ---


def with_a_spare(workers: int = 1) -> Wanted:
    """A pool that names one host more than it asks for."""
    hosts = [f"w-{number}" for number in range(1, workers + 2)]
    found = pool("control-plane", "ControlPlane", 1, ["cp-1"]) + pool(
        "workers", "Worker", workers, hosts, 100
    )
    return replace(read((found + CLUSTER).encode()), network=NETWORK, agent=AGENT)


def a_cluster_with_a_spare() -> World:
    world = World(*names(with_a_spare()))
    assert Laptop(world, with_a_spare()).finish().complete
    assert world.machines["w-2"].mark is None
    return world


def no_api_server(world: World) -> None:
    world.machines["cp-1"] = replace(world.machines["cp-1"], nodes=None)


def test_a_spare_is_not_claimed_for_a_member_that_is_silent_at_one_look() -> None:
    world = a_cluster_with_a_spare()
    told, world.machines["cp-1"] = world.machines["cp-1"], replace(world.machines["cp-1"], nodes=None)
    world.take_down("w-1")
    laptop = Laptop(world, with_a_spare())
    laptop.round()
    world.machines["cp-1"] = told
    world.bring_back()
    assert (laptop.finish().complete, world.machines["w-2"].mark) == (True, None)


def test_a_spare_is_not_claimed_while_nobody_knows_who_is_a_member() -> None:
    world = a_cluster_with_a_spare()
    no_api_server(world)
    world.take_down("w-1")
    world.now += timedelta(hours=1)
    decision, ran = rounds(Laptop(world, with_a_spare()))
    assert (ran, world.machines["w-2"].mark) == ([], None)
    assert decision.over
    assert "w-1: does not answer" in decision.message


def test_a_spare_serves_where_a_host_that_never_was_a_member_stays_silent() -> None:
    world = World(*names(with_a_spare()))
    laptop = Laptop(world, with_a_spare())
    laptop.round()
    world.take_down("w-1")
    world.now += timedelta(minutes=5)
    assert Laptop(world, with_a_spare()).finish().complete
    assert world.nodes == {"cp-1", "w-2"}


# --- no API server answers ---


def with_another_worker() -> tuple[World, Laptop]:
    """A cluster that is a day old, and a second worker for it."""
    world = a_cluster(1, 1)
    world.machines["w-2"] = bare("w-2")
    world.now += timedelta(days=1)
    return world, Laptop(world, wanted(1, 2))


def test_one_look_without_the_api_ends_no_run() -> None:
    world, laptop = with_another_worker()
    while world.machines["w-2"].last("restart") is None:
        laptop.round()
    laptop.round()
    nodes = world.machines["cp-1"].nodes
    no_api_server(world)
    assert not laptop.round(tick=False).over
    world.machines["cp-1"] = replace(world.machines["cp-1"], nodes=nodes)
    decision = laptop.finish()
    assert (decision.complete, world.nodes) == (True, {"cp-1", "w-1", "w-2"})


def test_an_api_that_stays_away_is_named_and_machines_that_have_joined_are_counted() -> None:
    world, laptop = with_another_worker()
    no_api_server(world)
    decision = laptop.finish()
    assert decision.message == (
        "2 of 3 machines are part of the cluster; cp-1: no API server says whether node cp-1 is there"
    )


def test_a_plan_waits_for_no_api_server() -> None:
    world, laptop = with_another_worker()
    no_api_server(world)
    _lines, end = plan(laptop.view(), world.now)
    assert end.over


# --- the first machine is taken out of the file ---


def test_a_pod_network_is_applied_where_the_first_machine_is_out_of_the_file() -> None:
    world = a_cluster(3, 0)
    world.machines["cp-4"] = bare("cp-4")
    planes = pool("control-plane", "ControlPlane", 3, ["cp-2", "cp-3", "cp-4"], 11)
    other = Manifest("other.yaml", "kind: List\n", "another")
    asked = replace(read((planes + CLUSTER).encode()), network=other, agent=AGENT)
    decision, ran = rounds(Laptop(world, asked), 80)
    assert decision.complete
    assert ran.count(Purpose.NETWORK) == 1
    assert "in no pool of this file, and left as they are: nodes cp-1" in decision.notes
    again, ran = rounds(Laptop(world, asked))
    assert (again.complete, ran) == (True, [])


def test_a_pod_network_is_applied_elsewhere_where_the_first_machine_died_before_it_had() -> None:
    world = a_cluster(3, 0)
    commands = tuple(one for one in world.machines["cp-1"].commands if one.purpose != "network")
    world.machines["cp-1"] = replace(world.machines["cp-1"], commands=commands)
    for name, facts in world.machines.items():
        nodes = tuple(replace(one, ready=False) for one in facts.nodes or ())
        world.machines[name] = replace(facts, nodes=nodes)
    laptop = Laptop(world, wanted(3, 0))
    laptop.view()
    world.take_down("cp-1")
    decision, ran = rounds(laptop)
    assert ran == [Purpose.NETWORK]
    assert decision.message == (
        "2 of 3 machines are part of the cluster; cp-1: does not answer: connection refused"
    )


def test_a_pod_network_that_the_first_machine_was_seen_to_have_applied_is_left() -> None:
    world = a_cluster(3, 0)
    laptop = Laptop(world, wanted(3, 0))
    laptop.view()
    world.take_down("cp-1")
    assert rounds(laptop)[1] == []


# --- who leads ---


def test_machines_that_the_cluster_leads_are_left_to_it() -> None:
    world = a_cluster(1, 1)
    mark = world.machines["cp-1"].mark
    assert mark is not None
    world.machines["cp-1"] = replace(world.machines["cp-1"], mark=replace(mark, leads="cluster"))
    world.machines["w-2"] = bare("w-2")
    decision, ran = rounds(Laptop(world, wanted(1, 2)))
    assert (decision.over, decision.reason, ran) == (True, Reason.CLUSTER_LEADS, [])
    assert decision.message == "machine cp-1 is led by the cluster, not by this computer"
    assert decision.hint == "change its pools in the cluster: kubectl edit machinepools"


# --- two people at once ---


def test_two_people_who_begin_with_other_machines_are_told_how_to_give_one_back() -> None:
    asked = wanted(3, 0)
    planes = pool("control-plane", "ControlPlane", 3, ["cp-2", "cp-1", "cp-3"])
    turned = replace(read((planes + CLUSTER).encode()), network=NETWORK, agent=AGENT)
    world = World(*names(asked))
    one, other = Laptop(world, asked), Laptop(world, turned)
    for view in (one.view(), other.view()):
        for step in decide(view, world.now).steps:
            world.act(view, step)
    stopped = one.decide()
    assert (stopped.reason, stopped.over) == (Reason.TWO_CLUSTERS, True)
    assert "nothing has begun on cp-" in stopped.hint
    assert "`rm -r /var/lib/shiplift/bootstrap` there gives a machine back" in stopped.hint
    given_back = stopped.hint.split()[4].rstrip(":")
    world.machines[given_back] = bare(given_back)
    assert Laptop(world, asked).finish().complete


def two_runs(one: Wanted, other: Wanted) -> tuple[World, tuple[Bootstrapping, Bootstrapping]]:
    """Side by side, round by round, until both are over."""
    world = World(*names(one))
    first, second = Laptop(world, one), Laptop(world, other)
    for _ in range(150):
        found = first.round(), second.round()
        if all(decision.over for decision in found):
            return world, found
    raise AssertionError(f"no end: {found}")


def of_containerd(version: str) -> Wanted:
    software = f'software: [{{name: containerd, version: "{version}"}}]'
    asked = text(1, 1).replace("  static", f"  {software}\n  static")
    return replace(read(asked.encode()), network=NETWORK, agent=AGENT)


@pytest.mark.parametrize(
    ("one", "other", "purpose"),
    [
        (wanted(1, 1), replace(wanted(1, 1), agent=AgentPackage("0.2.1", b"other", "d9")), Purpose.AGENT),
        (of_containerd("1"), of_containerd("2"), Purpose.SOFTWARE),
        (wanted(1, 1), replace(wanted(1, 1), network=Manifest("other.yaml", "", "d8")), Purpose.NETWORK),
    ],
)
def test_two_runs_that_bring_different_things_do_not_go_on_for_ever(
    one: Wanted, other: Wanted, purpose: Purpose
) -> None:
    world, _ = two_runs(one, other)
    assert world.judged == []
    assert max(Counter(one for one in world.begun if one[1] is purpose).values()) <= 3


def test_of_two_clusters_that_have_begun_one_is_left_out() -> None:
    world, other = a_cluster(1, 0), a_cluster(1, 0)
    world.machines["w-1"] = replace(other.machines["cp-1"], machine_id="w-1")
    decision = Laptop(world, wanted(1, 1)).decide()
    assert decision.hint == "leave the machines of one of them out of the file"


# --- the plan ---


def test_a_plan_passes_over_a_worker_that_is_silent_and_names_it() -> None:
    asked = wanted(1, 2)
    world = World(*names(asked))
    world.take_down("w-1")
    lines, end = plan(Laptop(world, asked).view(), world.now)
    assert "let machine w-2 join as a worker" in lines
    assert not any("w-1" in line for line in lines)
    assert end.message == "2 of 3 machines are part of the cluster; w-1: does not answer: connection refused"


def test_a_plan_takes_a_spare_for_a_host_that_is_silent() -> None:
    world = World(*names(with_a_spare()))
    world.take_down("w-1")
    lines, end = plan(Laptop(world, with_a_spare()).view(), world.now)
    assert end.complete
    assert "let machine w-2 join as a worker" in lines


def test_machines_of_a_cluster_none_of_whose_control_planes_is_in_the_file_are_left_alone() -> None:
    world = a_cluster(1, 1)
    world.machines["cp-9"] = bare("cp-9")
    file = pool("control-plane", "ControlPlane", 1, ["cp-9"], 50) + pool("workers", "Worker", 1, ["w-1"], 100)
    decision, ran = rounds(Laptop(world, replace(read((file + CLUSTER).encode()), agent=AGENT)))
    assert (decision.over, decision.reason, ran) == (True, Reason.FIRST_UNKNOWN, [])
    assert decision.message == "the cluster began on machine cp-1, and no control plane of it is in the file"
    assert world.machines["cp-9"].mark is None


def test_a_version_that_was_changed_in_the_file_is_told_and_left_to_a_rollout() -> None:
    world = a_cluster(1, 1)
    later = replace(read(text(1, 1).replace("1.36.3", "1.36.4").encode()), network=NETWORK, agent=AGENT)
    decision, ran = rounds(Laptop(world, later))
    assert (decision.complete, ran) == (True, [])
    assert (
        "machine w-1 has kubelet 1.36.3-1, and the file asks for 1.36.4: what is in the cluster is changed by"
        " a NodeRollout" in decision.notes
    )


def test_a_host_that_is_not_trusted_is_not_told_as_silent() -> None:
    asked = wanted(1, 0)
    silent = Silent("its host key is not the one in the file", START, final=True, hint="look at its key")
    view = replace(Laptop(World("cp-1"), asked).view(), hosts={"cp-1": silent})
    decision = decide(view, START)
    assert decision.message == "no host can be used; cp-1: its host key is not the one in the file"
    assert decision.hint == "look at its key"


KUBEADM_SAID = """[preflight] Running pre-flight checks
\t[WARNING Service-Kubelet]: kubelet is not enabled
error: error execution phase preflight: preflight checks failed
\t[ERROR SystemVerification]: kubelet is configured to not run on a host using cgroups v1
To see the stack trace of this error execute with --v=5 or higher
"""


def test_of_what_kubeadm_said_the_line_is_told_that_matters() -> None:
    said = excerpt(KUBEADM_SAID)
    assert "[ERROR SystemVerification]: kubelet is configured to not run on" in said
    assert "WARNING" not in said
    assert "preflight checks failed" not in said
    assert excerpt("error: error execution phase preflight: preflight checks failed") != ""
    assert excerpt("a\nb\nc\nd") == "b; c; d"
    assert excerpt("E: a\nE: b\nE: b\nE: c\nE: d\nE: e\n") == "E: c; E: d; E: e (errors before that: 2)"
    assert excerpt("x" * 1000).endswith(" …")
