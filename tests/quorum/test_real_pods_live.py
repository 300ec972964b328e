"""Real pods: a real machine with kubelet, containerd and DNS, whose containers are made of images that it
pulls; the operator runs in the machine's own network, as a pod of the cluster would see it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shiplift.api.quorum import MemberState, QuorumService
from shiplift.facts.kinds import NODE, POD, QUORUM_SERVICE, STATEFUL_SET
from tests.crash.quorum.process import Process
from tests.quorum import land as lands
from tests.quorum.conftest import Programs
from tests.quorum.land import Land, image_name, is_ready, make_set, make_space
from tests.quorum.rig import NEW, OLD
from tests.until import until

Json = dict[str, Any]
STORE = "store"
SECONDS = 500.0


@pytest.fixture
def land(
    machine_programs: Path, clusters_folder: Path, minio_programs: Programs, tmp_path: Path
) -> Iterator[Land]:
    programs = {OLD.tag: minio_programs.old, NEW.tag: minio_programs.new}
    with lands.land(tmp_path, clusters_folder, programs) as found:
        yield found


def service(land: Land) -> QuorumService:
    return msgspec.convert(land.client.get(QUORUM_SERVICE, "store", STORE), QuorumService)


def pods(land: Land) -> dict[str, Json]:
    return {pod["metadata"]["name"]: pod for pod in land.client.list(POD, STORE)}


def replicas(land: Land) -> tuple[Process, Process]:
    """Two of the operator, as it is installed."""
    kubeconfig = land.install()
    folders = (land.folder / "first", land.folder / "second")
    for folder in folders:
        folder.mkdir()
    first, second = (Process(kubeconfig, one, land.authority, within=land.within) for one in folders)
    return first, second


@pytest.mark.long(seconds=180)
def test_real_pods_are_swapped_in_place_and_then_made_anew(land: Land) -> None:
    """By two replicas of the operator, of which the one that leads is killed while servers fetch from it:
    then they fetch from the other."""
    leader, other = replicas(land)
    make_space(land.client, STORE)
    make_set(land.client, STORE, land.key.public)
    until(lambda: len(pods(land)) == 4 and all(map(is_ready, pods(land).values())), SECONDS, 1)
    before = {name: pod["metadata"]["uid"] for name, pod in pods(land).items()}
    spec = {
        "statefulSets": ["minio"],
        "image": image_name(NEW.tag),
        "credentialsSecret": "root",
        "trust": {"minisignKey": land.key.public},
    }
    land.client.create(QUORUM_SERVICE, {"metadata": {"name": "store"}, "spec": spec}, STORE)
    leader.start()
    try:
        until(lambda: service(land).status.observed_generation, SECONDS, 0.2)
        other.start()
        until(lambda: service(land).status.reason == "Staging", SECONDS, 0.05)
        leader.kill()
        # the switch is through: the new version runs in the pods that ran the old one. The first of them may
        # be away again, to be made anew, before the status tells that it is switched
        until(lambda: len(_switched(land, before)) >= 3, SECONDS, 0.2)
        until(lambda: service(land).status.reason == "AtTarget", SECONDS, 0.5)
    except AssertionError as error:
        said = (leader.last_lines(), other.last_lines(20))
        raise AssertionError(f"{error}\n{service(land).status}\n{said}") from None
    finally:
        leader.kill()
        other.kill()
    status = service(land).status
    assert {one.state for one in status.members} == {MemberState.RECREATED}
    assert {one.version for one in status.members} == {NEW.time}
    live = land.client.get(STATEFUL_SET, "minio", STORE)
    assert live["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    # each pod once, the last one first
    assert _deleted(other.log) == [before[name] for name in sorted(before, reverse=True)]
    after = pods(land)
    assert all(pod["metadata"]["uid"] != before[name] for name, pod in after.items())
    assert all(pod["status"]["containerStatuses"][0]["restartCount"] == 0 for pod in after.values())
    [node] = land.client.list(NODE)
    assert node["metadata"]["name"] == "m1"


def _switched(land: Land, before: dict[str, str]) -> list[str]:
    """The pods that are as they were, and whose servers are new."""
    members = service(land).status.members
    return [one.pod for one in members if one.version == NEW.time and one.uid == before[one.pod]]


def _deleted(log: Path) -> list[str]:
    """The uids of the pods that this operator deleted after it had switched the servers, in order."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    steps = [line for line in lines if line.get("event") == "step taken"]
    switched = [line["step"] for line in steps].index("Switch")
    assert all(line["step"] != "DeletePod" for line in steps[:switched])
    return [line["uid"] for line in steps if line["step"] == "DeletePod"]
