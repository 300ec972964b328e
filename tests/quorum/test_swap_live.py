"""Four real servers in a real StatefulSet are swapped to the next release by the operator, while somebody
writes and reads all the time."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from shiplift.api.marks import QUORUM_HOLD, UPGRADE_HOLD
from shiplift.facts.kinds import QUORUM_SERVICE
from shiplift.kube.account import Account
from shiplift.kube.errors import NotFound
from shiplift.operator import install
from shiplift.quorum.names import FINALIZER
from tests.audit import Audit
from tests.operated import SPACE
from tests.quorum.images_made import Made
from tests.quorum.rig import LONG, NEW, OLD, Rig, Service, Writer
from tests.until import until


class Watching:
    """What the status and the servers said, one after the other."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.reasons: list[str] = []
        self.steps: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)
        self._look()

    def _run(self) -> None:
        while not self._over.wait(0.05):
            self._look()

    def _look(self) -> None:
        try:
            status = self._service.service().status
        except NotFound:  # it is yet to be made
            return
        for seen, now in ((self.reasons, status.reason or ""), (self.steps, status.step.value)):
            if now and (not seen or seen[-1] != now):
                seen.append(now)


def drained(store: Service) -> tuple[int, str]:
    """What somebody is told who drains the node of all servers now, and has no patience."""
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from shiplift.cli import main; main()", "drain", store.kubelet.node),
            *("--timeout", "2s", "--kubeconfig", str(store.rig.cluster.kubeconfig)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long(seconds=150)
def test_a_swap_goes_through_all_five_steps_and_loses_no_object(
    operated: Rig, store: Service, new_image: Made
) -> None:
    store.make_set()
    store.serve()
    audit = Audit(operated.cluster, Account(SPACE, install.ACCOUNT))
    before = {name: pod["metadata"]["uid"] for name, pod in store.pods().items()}
    pids = [store.kubelet.pid(at) for at in range(4)]
    with Watching(store) as watching, Writer(store) as writer:
        store.make(marks={UPGRADE_HOLD: "the cluster is upgraded to v1.36.3"})
        until(lambda: store.reason() == "WaitsForUpgrade", LONG, 0.1)
        assert store.marks() == []
        store.unmark(UPGRADE_HOLD)
        until(lambda: QUORUM_HOLD in store.marks(), LONG, 0.05)
        code, said = drained(store)
        assert f"held by QuorumService {store.namespace}/store" in said, said
        assert code == 124, said
        assert {name: pod["metadata"]["uid"] for name, pod in store.pods().items()} == before
        until(lambda: store.service().status.switch_time, LONG, 0.1)
        # a server that is another process was made anew; until the switch is through nobody is
        until(lambda: set(store.versions()) == {NEW.time}, LONG, 0.1)
        assert [store.kubelet.pid(at) for at in range(4)] == pids
        store.wait_swapped()
    assert set(store.versions()) == {NEW.time}
    assert writer.lost() == []
    assert len(writer.written) > 20
    live = store.live()
    assert live["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    assert store.image() == f"{store.wanted}@{new_image.digest}"
    store.nothing_is_left()
    after = store.pods()
    assert all(pod["metadata"]["uid"] != before[name] for name, pod in after.items())
    assert {pod["spec"]["containers"][0]["image"] for pod in after.values()} == {store.image()}
    wanted = ["Validate", "UpdateStatefulSets", "Stage", "Switch", "RecreatePods"]
    assert [step for step in dict.fromkeys(watching.steps) if step in wanted] == wanted, watching.steps
    assert watching.steps[-1] == "Idle"
    said = {reason for reason, _ in store.events()}
    assert {
        "Validating",
        "UpdatingStatefulSets",
        "Staging",
        "Switching",
        "RecreatingPods",
        "AtTarget",
    } <= said
    status = store.service().status
    assert (status.current_version, status.target_version) == (NEW.time, NEW.tag)
    assert status.artifact is not None
    assert status.artifact.image_digest == new_image.digest
    assert audit.forbidden() == []
    written = {one for one in audit.asked() if one.split()[0] in ("patch", "delete", "create", "update")}
    assert {
        "patch statefulsets",
        "delete pods",
        "patch quorumservices",
        "patch quorumservices/status",
    } <= written
    assert store.condition("ImageVerified")[:2] == ("True", "PartlyVerified")
    assert "trust.cosignKey is not set" in store.condition("ImageVerified")[2]


def test_a_service_that_runs_what_is_wanted_is_left_alone(operated: Rig, store: Service) -> None:
    store.was = store.wanted
    store.make_set()
    store.serve()
    generation = store.live()["metadata"]["generation"]
    uids = {pod["metadata"]["uid"] for pod in store.pods().values()}
    store.make()
    until(lambda: store.condition("Ready")[:2] == ("True", "AtTarget"), LONG, 0.2)
    assert store.live()["metadata"]["generation"] == generation
    assert {pod["metadata"]["uid"] for pod in store.pods().values()} == uids
    store.delete()
    until(lambda: store_is_gone(store), 60)


def store_is_gone(store: Service) -> bool:
    return not list(store.client.list(QUORUM_SERVICE, store.namespace))


@pytest.mark.crash
def test_a_service_that_is_deleted_before_the_switch_is_put_back(operated: Rig, store: Service) -> None:
    store.make_set()
    store.serve()
    template = store.live()["spec"]["template"]
    revision = store.live()["status"]["updateRevision"]
    store.make()
    until(store.marks, LONG, 0.02)
    # servers take seconds to stage: none is switched before this is seen
    store.change(paused=True)
    until(lambda: store.reason() == "Paused", LONG, 0.05)
    assert FINALIZER in store.service().metadata.finalizers
    store.delete()
    until(lambda: store_is_gone(store), LONG, 0.2)
    assert store.marks() == []
    # all is as it was, and its controller finds the revision that its pods are of
    assert store.image() == store.was
    assert store.live()["spec"]["template"] == template
    until(lambda: store.live()["status"]["updateRevision"] == revision, 60)
    assert set(store.versions()) == {OLD.time}
