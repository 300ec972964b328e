"""Each step on a real API server: one write, and none where somebody was faster."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from shiplift.agent import protocol
from shiplift.agent.protocol import CHANGES_ALLOWED, READY, Operation, Order, Token
from shiplift.api.marks import CORDONED_BY
from shiplift.engine.step import Answer
from shiplift.facts.kinds import CONFIG_MAP, JOB, LEASE, NAMESPACE, NODE_ROLLOUT, POD, POD_DISRUPTION_BUDGET
from shiplift.kube.errors import NotFound
from shiplift.nodes.model import LeaseSeen
from shiplift.nodes.names import CLAIMS, FINALIZER, HOOK_LABEL, NODE_LEASES
from shiplift.nodes.steps import (
    Allow,
    CheckLease,
    Claim,
    Cordon,
    DeleteHook,
    Evict,
    Force,
    MakeHook,
    NodeStep,
    Release,
    SetFinalizer,
    Withdraw,
)
from tests.nodes.server import SPACE, Json, Server

ORDER = Order(Token("rollout", "node", Operation.PACKAGES, 1))
DESIRED = {"kubelet": "1.36.3", "containerd": "2.1"}
ON_IT = {
    CHANGES_ALLOWED: ORDER.written(),
    CORDONED_BY: "r",
    protocol.desired_key("kubelet"): "1.36.3",
    "example.com/theirs": "stays",
}
Make = Callable[[str, str, int], NodeStep]
STEPS: dict[str, Make] = {
    "cordon": lambda *node: Cordon(*node, rollout="other"),
    "allow": lambda *node: Allow(*node, order=ORDER, desired={"etcd": "3.6"}),
    "withdraw": lambda *node: Withdraw(*node, token=str(ORDER.token)),
    "release": lambda *node: Release(*node, uncordon=True),
}


def seen(node: Json) -> tuple[str, str, int]:
    """A node as a step names it."""
    about = node["metadata"]
    return about["name"], about["uid"], int(about["resourceVersion"])


def notes(node: Json) -> Json:
    return node["metadata"].get("annotations") or {}


def cordoned(node: Json) -> bool:
    return node["spec"].get("unschedulable", False)


# --- nodes ---


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_a_node_that_somebody_changed_meanwhile_stays_as_they_made_it(server: Server, make: Make) -> None:
    node = server.node(ON_IT, unschedulable=True)
    changed = server.annotate(node, {READY: f"false {ORDER.token}"})
    outcome = server.act(make(*seen(node)))
    assert outcome.answer is Answer.REFUSED
    assert "somebody else was faster" in outcome.message
    assert server.live_node(node)["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_another_node_of_that_name_is_left_alone(server: Server, make: Make) -> None:
    node = server.node(ON_IT)
    name, _, version = seen(node)
    assert server.act(make(name, str(uuid.uuid4()), version)).answer is Answer.REFUSED
    assert server.live_node(node) == node


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_a_step_on_a_node_that_is_gone_is_refused(server: Server, make: Make) -> None:
    assert server.act(make("nobody", str(uuid.uuid4()), 1)).answer is Answer.REFUSED


def test_a_cordon_says_whose_it_is_in_one_write(server: Server) -> None:
    node = server.node({"example.com/theirs": "stays"})
    outcome = server.act(Cordon(*seen(node), rollout="r"))
    live = server.live_node(node)
    assert outcome.ok
    assert cordoned(live)
    assert notes(live) == {"example.com/theirs": "stays", CORDONED_BY: "r"}
    (barrier,) = outcome.barriers
    assert getattr(barrier, "resource_version", None) == int(live["metadata"]["resourceVersion"])


def test_a_cordon_that_was_made_is_remembered_until_it_is_taken_back(server: Server) -> None:
    node = server.node()
    step = Cordon(*seen(node), rollout="r")
    server.act(step)
    assert server.memory.changes.changes[step.change].times == 1
    server.act(Release(*seen(server.live_node(node)), uncordon=True))
    assert step.change not in server.memory.changes.changes


def test_an_order_and_its_versions_are_written_together_and_no_other_versions_stay(server: Server) -> None:
    node = server.node(ON_IT | {protocol.desired_key("etcd"): "3.5"})
    server.desired[node["metadata"]["name"]] = ["kubelet", "etcd"]
    again = Order(Token("rollout", "node", Operation.PACKAGES, 2), back=True)
    assert server.act(Allow(*seen(node), order=again, desired=DESIRED)).ok
    found = notes(server.live_node(node))
    assert protocol.order_of(found) == again
    assert protocol.desired_versions(found) == DESIRED
    assert found["example.com/theirs"] == "stays"


def test_an_order_is_taken_back_and_the_cordon_stays(server: Server) -> None:
    node = server.node(ON_IT, unschedulable=True)
    server.desired[node["metadata"]["name"]] = ["kubelet"]
    assert server.act(Withdraw(*seen(node), token=str(ORDER.token))).ok
    live = server.live_node(node)
    assert cordoned(live)
    assert notes(live) == {CORDONED_BY: "r", "example.com/theirs": "stays"}


@pytest.mark.parametrize("uncordon", [True, False])
@pytest.mark.parametrize("mark", [True, False])
def test_a_node_is_given_back_in_one_write(server: Server, uncordon: bool, mark: bool) -> None:
    node = server.node(ON_IT, unschedulable=True)
    server.desired[node["metadata"]["name"]] = ["kubelet"]
    assert server.act(Release(*seen(node), uncordon=uncordon, mark=mark)).ok
    live = server.live_node(node)
    assert cordoned(live) is not uncordon
    assert notes(live) == {"example.com/theirs": "stays"} | ({CORDONED_BY: "r"} if mark else {})


# --- pods ---


def evict(pod: Json, **given: Any) -> Evict:
    about = pod["metadata"]
    return Evict(**{"namespace": SPACE, "name": about["name"], "uid": about["uid"], "node": "a"} | given)


def force(pod: Json, **given: Any) -> Force:
    about = pod["metadata"]
    known = {"namespace": SPACE, "name": about["name"], "uid": about["uid"], "node": "a"}
    return Force(**known | {"version": int(about["resourceVersion"]), "grace": 0} | given)


def is_there(server: Server, pod: Json) -> bool:
    try:
        found = server.client.get(POD, pod["metadata"]["name"], SPACE)
    except NotFound:
        return False
    return "deletionTimestamp" not in found["metadata"]


def a_budget(server: Server, app: str) -> None:
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": app}}}
    server.client.create(POD_DISRUPTION_BUDGET, {"metadata": {"name": app}, "spec": spec}, SPACE)


def test_a_pod_is_evicted_by_its_uid(server: Server) -> None:
    pod = server.pod()
    assert server.act(evict(pod, uid=str(uuid.uuid4()))).answer is Answer.REFUSED
    assert is_there(server, pod)
    outcome = server.act(evict(pod))
    assert outcome.ok
    assert not is_there(server, pod)
    assert getattr(outcome.barriers[0], "uid", "") == pod["metadata"]["uid"]


def test_what_a_budget_does_not_allow_is_refused_and_force_does_it_all_the_same(server: Server) -> None:
    app = f"a{uuid.uuid4().hex[:8]}"
    pod = server.pod(labels={"app": app})
    a_budget(server, app)
    assert server.act(evict(pod)).answer is Answer.REFUSED
    assert is_there(server, pod)
    assert server.act(force(pod)).ok
    assert not is_there(server, pod)


def test_force_ends_the_version_of_a_pod_that_was_seen(server: Server) -> None:
    pod = server.pod()
    stale = force(pod)
    about = pod["metadata"]
    server.client.patch(POD, about["name"], {"metadata": {"labels": {"x": "y"}}}, SPACE, uid=about["uid"])
    assert server.act(stale).answer is Answer.REFUSED
    assert is_there(server, pod)


# --- hooks ---


def a_hook(name: str = "pre", **given: Any) -> Json:
    container = {"name": "main", "image": "none"}
    job = {"template": {"spec": {"containers": [container], "serviceAccountName": "operator"}}}
    return {"name": name, "namespace": SPACE, "serviceAccountName": "runner", "job": job} | given


def make_hook(rollout: Json, **given: Any) -> MakeHook:
    about = rollout["metadata"]
    known = {"rollout": about["name"], "rollout_uid": about["uid"], "node": "a", "hook": "pre"}
    return MakeHook(**known | {"namespace": SPACE, "job": f"pre-{about['name']}"} | given)


def job_of(server: Server, step: MakeHook) -> Json:
    return server.client.get(JOB, step.job, SPACE)


def test_a_hook_runs_as_the_account_that_it_names(server: Server) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook()]}))
    assert server.act(step).ok
    spec = job_of(server, step)["spec"]
    pod = spec["template"]["spec"]
    assert pod["serviceAccountName"] == "runner"
    assert {"name": "SHIPLIFT_NODE", "value": "a"} in pod["containers"][0]["env"]
    assert spec["activeDeadlineSeconds"] == 600


def test_a_hook_is_made_once_however_often_it_is_asked_for(server: Server) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook()]}))
    server.act(step)
    first = job_of(server, step)
    assert server.act(step).ok
    assert job_of(server, step)["metadata"]["uid"] == first["metadata"]["uid"]


def test_a_job_of_somebody_else_is_not_taken_for_a_hook(server: Server) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook()]}))
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}}
    server.client.create(JOB, {"metadata": {"name": step.job}, "spec": spec}, SPACE)
    outcome = server.act(step)
    assert outcome.answer is Answer.FAILED
    assert f"Job ops/{step.job} is somebody else's" in outcome.message


def test_hooks_before_and_after_may_have_one_name(server: Server) -> None:
    hooks = {"before": [a_hook(timeout="1m")], "after": [a_hook(timeout="2m")]}
    rollout = server.rollout(hooks=hooks)
    after = make_hook(rollout, after=True, job=f"post-{rollout['metadata']['name']}")
    for step in (make_hook(rollout), after):
        assert server.act(step).ok
    assert job_of(server, after)["spec"]["activeDeadlineSeconds"] == 120


@pytest.mark.parametrize("given", [{"hook": "other"}, {"after": True}, {"namespace": "default"}])
def test_a_hook_that_the_rollout_has_not_is_named(server: Server, given: Json) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook()]}), **given)
    outcome = server.act(step)
    assert outcome.answer is Answer.FAILED
    assert f"has no hook {step.hook}" in outcome.message


def test_another_rollout_of_that_name_runs_no_hook(server: Server) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook()]}), rollout_uid=str(uuid.uuid4()))
    server.act(step)
    with pytest.raises(NotFound):
        job_of(server, step)


def test_a_template_that_is_no_job_is_refused_in_the_servers_words(server: Server) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook(job={"template": {}})]}))
    outcome = server.act(step)
    assert outcome.answer is Answer.FAILED
    assert "containers" in outcome.message


def test_a_hook_is_removed_and_one_that_is_gone_is_gone(server: Server) -> None:
    step = make_hook(server.rollout(hooks={"before": [a_hook()]}))
    server.act(step)
    about = job_of(server, step)["metadata"]
    removal = DeleteHook(SPACE, step.job, about["uid"], int(about["resourceVersion"]))
    assert server.act(removal).ok
    assert server.act(removal).ok
    with pytest.raises(NotFound):
        job_of(server, step)


def test_jobs_of_a_rollout_are_found_by_its_uid(server: Server) -> None:
    rollout = server.rollout(hooks={"before": [a_hook()]})
    server.act(make_hook(rollout))
    selector = f"{HOOK_LABEL}={rollout['metadata']['uid']}"
    assert len(list(server.client.list(JOB, SPACE, label_selector=selector))) == 1


# --- the rollout itself, claims, Leases ---


def test_our_finalizer_comes_and_goes_and_those_of_others_stay(server: Server) -> None:
    rollout = server.rollout()
    name, uid = rollout["metadata"]["name"], rollout["metadata"]["uid"]
    theirs = {"metadata": {"finalizers": ["example.com/theirs"]}}
    server.client.patch(NODE_ROLLOUT, name, theirs, uid=uid)
    found: list[list[str]] = []
    for present in (True, True, False):
        assert server.act(SetFinalizer(name, uid, present)).ok
        found.append(server.client.get(NODE_ROLLOUT, name)["metadata"]["finalizers"])
    both = ["example.com/theirs", FINALIZER]
    assert found == [both, both, ["example.com/theirs"]]
    server.client.patch(NODE_ROLLOUT, name, {"metadata": {"finalizers": None}}, uid=uid)


@pytest.fixture
def book(server: Server) -> None:
    try:
        found = server.client.get(CONFIG_MAP, CLAIMS, SPACE)["metadata"]
        server.client.delete(CONFIG_MAP, CLAIMS, SPACE, uid=found["uid"])
    except NotFound:
        pass
    server.client.create(CONFIG_MAP, {"metadata": {"name": CLAIMS}}, SPACE)


def a_claim(ended: bool = False, uid: str = "u1") -> Claim:
    return Claim("a", uid, 7, f"r.{uid}", ended)


def test_a_claim_is_written_down_and_ended(server: Server, book: None) -> None:
    told = server.told
    assert server.act(a_claim()).ok
    (found,) = server.book.open_claims()
    assert (found.step, found.target.name, found.target.uid, found.epoch) == ("r.u1", "a", "u1", 5)
    assert server.act(a_claim()).ok
    assert len(server.book.open_claims()) == 1
    assert server.act(a_claim(ended=True)).ok
    assert server.book.open_claims() == ()
    assert server.told == told + 3


def test_a_leader_that_is_over_claims_nothing(server: Server, book: None) -> None:
    assert server.actor_of(6).act(a_claim()).ok
    outcome = server.act(a_claim(uid="u2"))
    assert outcome.answer is Answer.FAILED
    assert "a leader of epoch 6" in outcome.message
    assert len(server.book.open_claims()) == 1


def test_without_the_object_of_claims_nothing_is_claimed_and_it_is_named(server: Server, book: None) -> None:
    uid = server.client.get(CONFIG_MAP, CLAIMS, SPACE)["metadata"]["uid"]
    server.client.delete(CONFIG_MAP, CLAIMS, SPACE, uid=uid)
    outcome = server.act(a_claim())
    assert outcome.answer is Answer.FAILED
    assert f"ConfigMap ops/{CLAIMS}" in outcome.message
    assert "apply again what installed shiplift" in outcome.message


def test_a_lease_that_is_renewed_is_seen_to_be(server: Server) -> None:
    _make_namespace(server)
    name, uid = f"l{uuid.uuid4().hex[:8]}", "lease-uid"
    spec = {"holderIdentity": name, "renewTime": "2026-11-01T12:00:00.000000Z"}
    lease = server.client.create(LEASE, {"metadata": {"name": name}, "spec": spec}, NODE_LEASES).object
    for attempt in (0, 1):
        assert server.act(CheckLease(name, uid, attempt)).ok
    assert server.memory.leases.seen({uid}) == {uid: LeaseSeen(2, False)}
    later = {"spec": {"renewTime": "2026-11-01T12:00:10.000000Z"}}
    server.client.patch(LEASE, name, later, NODE_LEASES, uid=lease["metadata"]["uid"])
    server.act(CheckLease(name, uid, 2))
    assert server.memory.leases.seen({uid}) == {uid: LeaseSeen(3, True)}


def test_a_lease_that_is_renewed_while_it_is_looked_at_is_seen_at_that_look(server: Server) -> None:
    _make_namespace(server)
    name, uid = f"l{uuid.uuid4().hex[:8]}", "lease-uid"
    spec = {"holderIdentity": name, "renewTime": "2026-11-01T12:00:00.000000Z"}
    lease = server.client.create(LEASE, {"metadata": {"name": name}, "spec": spec}, NODE_LEASES).object
    ended = threading.Event()

    def renew() -> None:
        for second in range(1, 50):
            later = {"spec": {"renewTime": f"2026-11-01T12:00:{second:02}.000000Z"}}
            server.client.patch(LEASE, name, later, NODE_LEASES, uid=lease["metadata"]["uid"])
            if ended.wait(0.2):
                return

    kubelet = threading.Thread(target=renew)
    kubelet.start()
    try:
        assert server.act(CheckLease(name, uid, 0)).ok
    finally:
        ended.set()
        kubelet.join()
    assert server.memory.leases.seen({uid}) == {uid: LeaseSeen(1, True)}


def test_a_node_without_a_lease_renews_none(server: Server) -> None:
    assert server.act(CheckLease("nobody", "no-lease", 0)).ok
    assert server.memory.leases.seen({"no-lease"}) == {"no-lease": LeaseSeen(1, False)}


def test_nobody_waits_for_controllers_that_elect_no_leader(server: Server) -> None:
    assert server.act(CheckLease("kube-controller-manager", "after n-0", 0, "kube-system")).ok
    assert server.memory.leases.seen({"after n-0"}) == {"after n-0": LeaseSeen(1, True)}


def _make_namespace(server: Server) -> None:
    """The API server makes it a moment after its start."""
    try:
        server.client.get(NAMESPACE, NODE_LEASES)
    except NotFound:
        server.client.create(NAMESPACE, {"metadata": {"name": NODE_LEASES}})
