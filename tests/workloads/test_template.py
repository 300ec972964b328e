"""Mode Template: nothing that is denied, intolerant or too tolerant stops it, loops it or is locked out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchmarks.rows import make
from shiplift.api.marks import UPGRADE_TAINT
from shiplift.api.values import LabelSelector
from shiplift.api.workloads import Cleanup, MigrationState, Mode, TolerantPods, WorkloadKind, WorkloadState
from shiplift.engine.step import Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, Toleration
from shiplift.facts.workloads import DaemonSet
from shiplift.kube.errors import KubeError
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.names import SKIP
from shiplift.workloads.steps import LetOn, MakeHold, MarkNode
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.operated import NEW as NEW_VERSION
from tests.operated import OLD as OLD_VERSION
from tests.workloads.halfway import wait_line
from tests.workloads.players import Operator, finish, residue, run
from tests.workloads.rig import Scene
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, change, decided, look, under_way
from tests.workloads.world import NEW, OLD, SPACE, World, a_world

WEB, DB = an_id("web"), an_id("db", STATEFUL_SET)
EVERYTHING = Toleration(operator="Exists")


def ready_to_begin(*workloads: tuple[WorkloadKind, str, int], **spec: Any) -> World:
    """Target nodes have come, and nothing was done yet."""
    world = a_world(Mode.TEMPLATE, **spec)
    for kind, name, replicas in workloads:
        world.workload(kind, name, replicas)
    nature.settle(world)
    new_nodes(world)
    return world


def new_nodes(world: World) -> None:
    for name in ("new-1", "new-2"):
        world.node(name, NEW)


def line_of(world: World, id_: WorkloadId) -> tuple[str, str]:
    found = status_of(decided(world)).workloads
    return next((one.reason or "", one.message) for one in found if one.name == id_.name)


# --- a template that somebody puts back ---


def put_back(world: World) -> bool:
    """GitOps puts the template of `web` back as it knows it; whether it had to."""
    row = world.row_of(WEB)
    assert row is not None
    if not row.template.tolerations:
        return False
    template = msgspec.structs.replace(row.template, tolerations=())
    world.put(msgspec.structs.replace(row, template=template, generation=row.generation + 1))
    return True


def play(world: World, operator: Operator, rounds: int, every: int) -> int:
    """So many rounds of 5 s each, of which GitOps looks in some; how often it put the template back."""
    times = 0
    for number in range(rounds):
        operator.round()
        nature.tick(world)
        world.pass_time(5)
        times += not number % every and put_back(world)
    return times


@pytest.mark.parametrize("every", [2, 40])
def test_a_template_that_is_put_back_again_and_again_is_left_alone_and_says_who_may_do_it(every: int) -> None:
    """Also where all pods have arrived each time before it is."""
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE)
    nature.settle(world)
    operator = Operator(world)
    assert play(world, operator, 400, every) == 4
    assert world.migration is not None
    status = world.migration.status
    (line,) = status.workloads
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.TEMPLATE_PUT_BACK)
    assert "somebody, such as a GitOps controller, takes our toleration" in line.message
    assert "use mode Inject, let them ignore the tolerations" in line.message
    assert "GitOps" in status.needs
    operator.die()
    assert play(world, Operator(world), 20, 1) == 0, "the count is in the status"
    world.migrate(paused=True)
    operator = Operator(world)
    operator.round()
    world.migrate(paused=False)
    finish(world, operator=operator)
    assert world.versions(WEB) == [NEW, NEW]


def test_a_workload_whose_owner_writes_the_toleration_too_goes_on_by_itself() -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE)
    nature.settle(world)
    operator = Operator(world)
    play(world, operator, 60, 2)
    row = world.row_of(WEB)
    assert row is not None
    own = (Toleration(UPGRADE_TAINT, "Exists"),)
    template = msgspec.structs.replace(row.template, tolerations=own)
    world.put(msgspec.structs.replace(row, template=template, generation=row.generation + 1))
    finish(world, operator=operator)
    assert world.versions(WEB) == [NEW, NEW]


# --- a toleration of the owner's, written as ours ---


OWN = Toleration(UPGRADE_TAINT, "Equal", NEW, "NoSchedule")


def with_own(cleanup: Cleanup = Cleanup.IMMEDIATE) -> World:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE, cleanup=cleanup)
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", template=msgspec.structs.replace(row.template, tolerations=(OWN,)))
    nature.settle(world)
    return world


def tolerations(world: World) -> tuple[Toleration, ...]:
    row = world.row_of(WEB)
    assert row is not None
    return row.template.tolerations


@pytest.mark.parametrize("cleanup", Cleanup)
def test_a_toleration_that_the_owner_wrote_himself_stays_and_is_not_ours(cleanup: Cleanup) -> None:
    world = with_own(cleanup)
    finish(world)
    assert tolerations(world) == (OWN,)
    assert world.placements() == []
    assert world.migration is not None
    assert world.migration.status.inert_tolerations == ()


def test_it_stays_with_another_target_too() -> None:
    world = with_own()
    operator = run(world)
    world.migrate(target=OLD)
    run(world, operator=operator)
    assert OWN in tolerations(world)
    assert len(tolerations(world)) == 2
    world.migrate(abort=True)
    run(world, operator=operator)
    assert tolerations(world) == (OWN,)


def test_once_the_owner_took_it_off_the_workload_gets_ours_which_goes_in_the_end() -> None:
    world = with_own()
    operator = Operator(world)
    while not world.placements():
        operator.round()
    assert put_back(world)
    finish(world, operator=operator)
    assert tolerations(world) == ()
    assert world.versions(WEB) == [NEW, NEW]


# --- another target, before the template has the toleration for it ---


def given(world: World, operator: Operator, target: str) -> None:
    """The template of `web` has our toleration for that target."""
    for _ in range(40):
        if any(one.value == target for one in tolerations(world)):
            return
        operator.round()
        nature.tick(world)
        world.pass_time(3)
    raise AssertionError(f"{tolerations(world)} has none for {target}")


def recorded(world: World, operator: Operator, target: str) -> None:
    """It is written down that the template of `web` is going to have one for that target."""
    for _ in range(40):
        placement = world.placement(SPACE)
        if placement is not None and f'"toleration":"{target}"' in str(placement.object.spec.ledger):
            return
        operator.round()
        nature.tick(world)
        world.pass_time(1)
    raise AssertionError(f"no record for {target}")


@pytest.mark.parametrize("ended", ["aborted", "skipped", "deleted"])
def test_turned_around_and_ended_before_the_template_is_changed_the_first_toleration_goes(ended: str) -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE, cleanup=Cleanup.IMMEDIATE)
    nature.settle(world)
    operator = Operator(world)
    given(world, operator, NEW)
    world.migrate(target=OLD)
    recorded(world, operator, OLD)
    assert [one.value for one in tolerations(world)] == [NEW]
    end(world, operator, ended)
    assert tolerations(world) == ()
    assert residue(world) == []


def end(world: World, operator: Operator, how: str) -> None:
    if how == "skipped":
        change(world, "web", annotations=Labels({SKIP: "true"}))
        run(world, operator=operator)
    if how == "deleted":
        world.end_migration()
    else:
        world.migrate(abort=True)
    run(world, operator=operator)


def test_turned_around_twice_before_the_template_is_changed_it_goes_too() -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE, cleanup=Cleanup.IMMEDIATE)
    nature.settle(world)
    operator = Operator(world)
    given(world, operator, NEW)
    world.node("newest", "v1.37.0")
    for target in (OLD, "v1.37.0"):
        world.migrate(target=target)
        recorded(world, operator, target)
    assert [one.value for one in tolerations(world)] == [NEW]
    end(world, operator, "aborted")
    assert tolerations(world) == ()


def test_turned_around_and_left_inert_the_first_toleration_is_told() -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE, cleanup=Cleanup.ON_NEXT_ROLLOUT)
    nature.settle(world)
    operator = Operator(world)
    given(world, operator, NEW)
    world.migrate(target=OLD)
    recorded(world, operator, OLD)
    end(world, operator, "aborted")
    assert [one.value for one in tolerations(world)] == [NEW]
    assert world.migration is not None
    assert world.migration.status.inert_tolerations == (str(WEB),)


def test_turned_to_the_target_of_the_owners_own_and_back_ours_goes_and_his_stays() -> None:
    world = with_own()
    operator = run(world)
    world.migrate(target=OLD)
    given(world, operator, OLD)
    world.migrate(target=NEW)
    recorded(world, operator, NEW)
    end(world, operator, "aborted")
    assert tolerations(world) == (OWN,)


# --- a hold that somebody forbids ---


def untainted(world: World) -> None:
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, taints=()))


def denied(world: World, attempts: int) -> Outcomes:
    """Somebody's policy forbids the hold of web, so often already."""
    selector = look(world).tallies[WEB].row.selector
    assert selector is not None
    step = MakeHold(WEB, selector)
    known = Outcomes()
    for _ in range(attempts):
        known = known.remember([Outcome.failed(step, "maxUnavailable 0 is forbidden here")], world.now)
    return known


def held_back() -> World:
    world = under_way((DEPLOYMENT, "web", 2), (STATEFUL_SET, "db", 1), mode=Mode.TEMPLATE)
    world.order("order", [(WEB, DB)])
    untainted(world)
    nature.settle(world)
    return world


def tainted(decision: Migrating) -> int:
    return sum(isinstance(step, MarkNode) and step.retaint for step in decision.steps)


def test_a_hold_that_is_forbidden_again_and_again_holds_up_nobody_and_is_told() -> None:
    world = held_back()
    decision = decided(world, denied(world, 3))
    assert tainted(decision) == 4
    (note,) = [one for one in decision.notes if "Deployment shop/web" in one]
    assert "the move goes on without" in note
    assert "maxUnavailable 0 is forbidden here" in note


def test_a_hold_that_has_failed_once_is_waited_for() -> None:
    world = held_back()
    assert tainted(decided(world, denied(world, 1))) == 0


# --- DaemonSets ---


def agent(world: World, *tolerations: Toleration) -> None:
    row = make(DaemonSet, "agent", namespace="kube-system")
    template = msgspec.structs.replace(row.template, tolerations=tolerations)
    world.put(msgspec.structs.replace(row, template=template))


def test_a_daemon_set_that_refuses_the_way_back_leaves_no_marks_behind() -> None:
    world = ready_to_begin((DEPLOYMENT, "web", 2), target=NEW)
    operator = Operator(world)
    agent(world, Toleration(UPGRADE_TAINT, "Equal", NEW, "NoSchedule"))
    run(world, operator=operator)
    world.migrate(target=OLD)
    run(world, operator=operator)
    migration = world.migration
    assert migration is not None
    assert migration.status.state is MigrationState.NO_UPGRADE
    assert "kube-system/agent" in migration.status.message
    assert residue(world) == []


def test_it_begins_as_soon_as_the_daemon_set_tolerates() -> None:
    world = ready_to_begin((DEPLOYMENT, "web", 2))
    agent(world)
    operator = Operator(world)
    run(world, operator=operator)
    assert world.migration is not None
    assert [one.reason for one in world.migration.status.conditions if one.type == "Stalled"] == [
        Reason.DAEMON_SETS.value
    ]
    agent(world, EVERYTHING)
    run(world, operator=operator)
    assert world.versions(WEB) == [NEW, NEW]


# --- pods that tolerate everything, and StatefulSets that roll out by deletion ---


def test_pods_that_tolerate_everything_are_not_evicted_round_and_round() -> None:
    world = a_world(Mode.TEMPLATE)
    world.workload(DEPLOYMENT, "web", 2)
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", template=msgspec.structs.replace(row.template, tolerations=(EVERYTHING,)))
    nature.settle(world)
    new_nodes(world)
    before = {pod.uid for pod in world.pods(WEB)}
    run(world)
    assert {pod.uid for pod in world.pods(WEB)} == before
    reason, message = line_of(world, WEB)
    assert reason == Reason.TOLERATES_ALL.value
    assert "tolerate every taint" in message
    for name in ("old-1", "old-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.remove(node)
    run(world)
    assert world.versions(WEB) == [NEW, NEW]


def test_a_stateful_set_that_rolls_out_by_deletion_is_moved_pod_by_pod() -> None:
    world = ready_to_begin((STATEFUL_SET, "db", 3))
    change(world, "db", strategy="OnDelete")
    finish(world)
    assert world.versions(DB) == [NEW, NEW, NEW]


# --- what is not moved ---


def bare(world: World, name: str, node: str = "", namespace: str = SPACE, **given: Any) -> Pod:
    """A pod that no workload has."""
    more = {"labels": Labels(app=name), "phase": "Running" if node else "Pending", **given}
    return world.put(make(Pod, name, uid=name, namespace=namespace, node=node, ready=bool(node), **more))


def cordon(world: World) -> None:
    for node in world.all(Node):
        if node.kubelet_version == OLD:
            world.put(msgspec.structs.replace(node, unschedulable=True))


def test_what_is_not_moved_and_does_not_tolerate_is_named_before_the_start_with_a_way() -> None:
    world = a_world(Mode.TEMPLATE, exclude_namespaces=("kube-system",))
    world.workload(DEPLOYMENT, "web", 1)
    world.workload(DEPLOYMENT, "coredns", 2, "kube-system")
    world.workload(DEPLOYMENT, "skipped", 1, annotations=Labels({SKIP: "true"}))
    nature.settle(world)
    new_nodes(world)
    bare(world, "job", "old-1", owners=(Owner("Job", "job", "job-uid", True),))
    bare(world, "agent", "old-1", owners=(Owner("DaemonSet", "agent", "agent-uid", True),))
    bare(world, "static", "old-1", owners=(Owner("Node", "old-1", "node-uid", True),))
    bare(world, "done", "old-1", phase="Succeeded")
    bare(world, "tolerates", "old-1", spec=tolerating(EVERYTHING))
    decision = decided(world)
    assert decision.reason is Reason.STARTING
    (note,) = decision.notes
    assert note.startswith("pods that are not moved and do not tolerate target nodes: kube-system/coredns-")
    assert "and 1 more;" in note
    assert "pick them in spec.tolerate of WorkloadMigration cluster" in note


def test_of_those_that_were_not_picked_the_first_few_are_named_that_find_no_node_before_others() -> None:
    picked = TolerantPods(pod_selector=LabelSelector(match_labels={"app": "picked"}))
    world = ready_to_begin((DEPLOYMENT, "web", 1), tolerate=(picked,))
    for name in ("b", "a", "picked"):
        bare(world, name, "old-1")
    bare(world, "stuck", unschedulable="0/4 nodes are available")
    (note,) = decided(world).notes
    assert f" target nodes: {SPACE}/stuck, {SPACE}/a, {SPACE}/b; while others drain" in note
    assert "they find no node (1 of them now);" in note


def tolerating(*tolerations: Toleration) -> Any:
    return msgspec.structs.replace(make(Pod, "any").spec, tolerations=tolerations)


def test_in_mode_inject_they_are_free_and_nothing_is_said() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    bare(world, "job", "old-1")
    assert decided(world).notes == ()


@pytest.mark.parametrize(
    ("one", "let_on"),
    [
        (TolerantPods(), True),
        (TolerantPods(namespace=SPACE), True),
        (TolerantPods(namespace="elsewhere"), False),
        (TolerantPods(pod_selector=LabelSelector(match_labels={"app": "job"})), True),
        (TolerantPods(pod_selector=LabelSelector(match_labels={"app": "other"})), False),
    ],
)
def test_a_pod_that_was_picked_gets_a_toleration_when_it_finds_no_node(
    one: TolerantPods, let_on: bool
) -> None:
    world = ready_to_begin((DEPLOYMENT, "web", 1), tolerate=(one,))
    operator = Operator(world)
    run(world, operator=operator)
    cordon(world)
    bare(world, "job")
    run(world, operator=operator)
    pod = world.get(Pod, "job")
    assert pod is not None
    assert pod.node.startswith("new") is let_on
    (note,) = [one for one in decided(world).notes if "not moved" in one] or [""]
    assert bool(note) is not let_on
    assert let_on or "(1 of them now)" in note


def test_pods_of_workloads_that_are_moved_and_pods_that_run_are_left_as_they_are() -> None:
    world = ready_to_begin((DEPLOYMENT, "web", 2), tolerate=(TolerantPods(),))
    bare(world, "job", "old-1")
    run(world)
    assert not [step for step in decided(world).steps if isinstance(step, LetOn)]
    pod = world.get(Pod, "job")
    assert pod is not None
    assert (pod.node, pod.spec.tolerations) == ("old-1", ())


def test_they_are_let_on_while_it_is_paused_too_since_the_taint_is_there() -> None:
    world = ready_to_begin((DEPLOYMENT, "web", 1), tolerate=(TolerantPods(),))
    operator = Operator(world)
    run(world, operator=operator)
    world.migrate(paused=True)
    cordon(world)
    bare(world, "job")
    run(world, operator=operator)
    pod = world.get(Pod, "job")
    assert pod is not None
    assert pod.node.startswith("new")


# --- on a real cluster ---


def is_forbidden(scene: Scene, space: str) -> bool:
    """Whether the API server goes by the policy yet."""
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "nobody"}}}
    body = {"metadata": {"name": "probe"}, "spec": spec}
    try:
        scene.client.create(kinds.POD_DISRUPTION_BUDGET, body, space, dry_run=True)
    except KubeError:
        return True
    return False


def test_a_policy_that_forbids_our_holds_does_not_stop_it(scene: Scene) -> None:
    old = scene.nodes("old", OLD_VERSION)
    space = scene.namespace()
    for name in ("db", "web"):
        scene.deployment(space, name, 2)
    scene.order(space, web=["db"])
    scene.wait_ready(space, db=2, web=2)
    scene.nodes("new", NEW_VERSION)
    rule = {
        "apiGroups": ["policy"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["poddisruptionbudgets"],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [
            {"expression": "object.spec.?maxUnavailable.orValue(1) != 0", "message": "no zero here"}
        ],
    }
    name = f"no-zero-{scene.name}"
    bound = {"policyName": name, "validationActions": ["Deny"]}
    policy, binding = kinds.VALIDATING_ADMISSION_POLICY, kinds.VALIDATING_ADMISSION_POLICY_BINDING
    scene.client.create(policy, {"metadata": {"name": name}, "spec": spec})
    scene.client.create(binding, {"metadata": {"name": name}, "spec": bound})
    try:
        scene.wait(lambda: is_forbidden(scene, space))
        scene.migrate(mode="Template")
        scene.rig.start()
        scene.wait(lambda: [one for one in scene.status().get("notes", []) if "goes on without" in one])
        scene.finish(old)
    finally:
        scene.drop(binding, name)
        scene.drop(policy, name)
    assert scene.arrived(space, "db", "web")


@pytest.mark.long(seconds=60)
def test_a_stateful_set_with_on_delete_moves_and_one_that_tolerates_everything_stays(scene: Scene) -> None:
    old = scene.nodes("old", OLD_VERSION)
    space = scene.namespace()
    scene.stateful_set(space, "db", 2, spec={"updateStrategy": {"type": "OnDelete"}})
    scene.deployment(space, "all", 2, pod={"tolerations": [{"operator": "Exists"}]})
    scene.wait_ready(space, db=2, all=2)
    scene.nodes("new", NEW_VERSION)
    before = {one["metadata"]["uid"] for one in scene.pods(space, "all")}
    scene.migrate(mode="Template")
    scene.rig.start()
    wait_line(scene, "all", state="Blocked", reason="ToleratesEverything")
    scene.wait(lambda: scene.arrived(space, "db"))
    assert {one["metadata"]["uid"] for one in scene.pods(space, "all")} == before
    scene.remove(old)
    # its pods were on nodes that are gone: Kubernetes collects them, which takes up to 80 s
    scene.wait_state("NoUpgrade", 150)
    scene.wait(lambda: scene.arrived(space, "all"))


def test_a_bare_pod_that_finds_no_node_is_let_onto_target_nodes(scene: Scene) -> None:
    old = scene.nodes("old", OLD_VERSION)
    space = scene.namespace()
    scene.gate(space)
    scene.nodes("new", NEW_VERSION)
    scene.migrate(mode="Template")
    scene.rig.start()
    scene.wait(lambda: scene.line("gate").get("reason") == "NoSlot")
    scene.cordon(*old.names())
    body = {
        "metadata": {"name": "bare", "labels": {"app": "bare"}},
        "spec": {"containers": [{"name": "main", "image": "none"}], "terminationGracePeriodSeconds": 1},
    }
    scene.client.create(kinds.POD, body, space)
    scene.wait(lambda: [one for one in scene.status().get("notes", []) if f"{space}/bare" in one])
    scene.change_migration(tolerate=[{"namespace": space}])
    scene.wait(lambda: scene.places(space, "bare") == ["new"])
    assert not scene.condition("Stalled")
