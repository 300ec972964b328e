"""Four real servers are swapped to the next release, the operator killed after each kind of step; and what is
refused leaves everything as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.engine.step import Step
from shiplift.local.cluster import Cluster
from shiplift.quorum.model import QuorumDecision, Reason
from shiplift.quorum.names import MARKS
from tests import registry as registries
from tests.minio import builds
from tests.minio.keys import Key
from tests.minio.servers import Servers
from tests.quorum.conftest import Programs
from tests.quorum.images_made import Entry, Made, image, layer
from tests.quorum.whole import Kubelet, Operator, make_set, spec_of

OLD, NEW = builds.OLD, builds.NEW


@pytest.fixture(scope="module")
def registry(
    minio_programs: Programs, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[registries.Registry]:
    with registries.running(tmp_path_factory.mktemp("registry")) as one:
        yield one


@pytest.fixture(scope="module")
def made(minio_programs: Programs, signature: bytes) -> Made:
    """An image of the new release, as its publisher would make it; not packed, to save time."""
    content = minio_programs.new.read_bytes()
    checksum = f"{hashlib.sha256(content).hexdigest()}  minio.{NEW.tag}\n".encode()
    entries = [Entry("usr/bin/minio", content), Entry("usr/bin/minio.sha256sum", checksum)]
    return image(layer(*entries, Entry("usr/bin/minio.minisig", signature)), labels={"release": NEW.tag})


@pytest.fixture
def operator(
    cluster: Cluster,
    namespace: str,
    tmp_path: Path,
    minio_programs: Programs,
    key: Key,
    registry: registries.Registry,
    made: Made,
) -> Iterator[Operator]:
    registry.put("store/minio", NEW.tag, made)
    was = f"{registry.host}/store/minio:{OLD.tag}"
    servers = Servers(tmp_path, key.public)
    with cluster.client() as client:
        make_set(client, namespace, was, key.public)
        kubelet = Kubelet(servers, lambda name: minio_programs.old if name == was else minio_programs.new)
        spec = spec_of(f"{registry.host}/store/minio:{NEW.tag}", key.public)
        one = Operator(client, namespace, kubelet, registry, spec, tmp_path / "cache")
        try:
            yield one
        finally:
            one.close()
            servers.stop()


def at_target(decision: QuorumDecision) -> bool:
    return decision.line.reason is Reason.AT_TARGET


def test_a_swap_goes_through_all_steps_though_the_operator_is_killed_after_each_kind(
    operator: Operator, made: Made
) -> None:
    killed_after: list[str] = []

    def kill_once(step: Step) -> None:
        name = type(step).__name__
        # what was staged is remembered until it is switched: killed in between, it is staged once more
        if name not in killed_after:
            killed_after.append(name)
            operator.begin_anew()

    operator.run(at_target, kill_once)
    assert operator.kubelet.servers.versions() == [NEW.time] * 4
    live = operator.live()
    assert live["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    assert live["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f"@{made.digest}")
    marks = {*(live["metadata"].get("labels") or {}), *(live["metadata"].get("annotations") or {})}
    assert not [mark for mark in marks if mark in MARKS or "shiplift" in mark]
    taken = {name for _, steps in operator.seen for name in steps}
    assert taken == {"Validate", "Begin", "Stage", "Switch", "LiftHold", "DeletePod", "Finish"}
    assert set(killed_after) == taken


def test_staging_that_one_server_cannot_do_is_given_up_and_put_back(operator: Operator) -> None:
    def block(step: Step) -> None:
        """Before anything is staged: one server cannot write beside its binary."""
        if type(step).__name__ == "Begin":
            operator.kubelet.servers.program(2).with_name(".minio.check-perm").mkdir()

    operator.run(lambda decision: decision.line.reason is Reason.VALIDATING)
    before = operator.live()
    operator.run(lambda decision: bool(operator.given_up) and not operator.live_swap(), block)
    after = operator.live()
    assert after["spec"] == before["spec"]
    assert after["status"]["updateRevision"] == before["status"]["updateRevision"]
    assert "minio-2: it cannot write beside its binary" in operator.given_up
    assert operator.kubelet.servers.versions() == [OLD.time] * 4
    decision = operator.round()
    assert (decision.steps, decision.line.reason, decision.line.stalled) == ((), Reason.STAGING_FAILED, True)
