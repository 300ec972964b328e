"""The benchmark's parts against a real API server with a small filled cluster."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from benchmarks import fill, server
from benchmarks.contender import Contender, Name, command
from benchmarks.events import Updates
from benchmarks.loader import Loader
from benchmarks.server import endpoint, serving
from benchmarks.sync import check_gone
from shiplift.local.cluster import Cluster

PODS, NODES = 40, 3


@pytest.fixture(scope="module")
def filled(programs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster]:
    folder = tmp_path_factory.mktemp("benchmark")
    fill.fill(folder, PODS, NODES)
    with serving(folder / "etcd", folder) as cluster:
        yield cluster


def test_admission_gave_each_pod_its_own_token_volume(filled: Cluster) -> None:
    with Loader(endpoint(filled)) as loader:
        pods = loader.get("/api/v1/pods")["items"]
    names = {
        volume["name"]
        for pod in pods
        for volume in pod["spec"]["volumes"]
        if "kube-api-access" in volume["name"]
    }
    assert len(names) == len(pods) == PODS


def test_our_store_syncs_and_sees_updates(filled: Cluster) -> None:
    updates = Updates(PODS, NODES)
    with (
        Contender(command(Name.OURS, filled.kubeconfig)) as ours,
        Loader(endpoint(filled)) as loader,
    ):
        assert (ours.synced.pods, ours.synced.nodes) == (PODS, NODES)
        ours.ask("mark")
        report = ours.ask("until", updates.make(loader, 10, rate=1000), updates.touch_node(loader))
    assert report.events == 11
    assert report.cpu > 0
    assert report.rss <= report.peak


def test_the_wire_reads_until_the_initial_state_is_complete(filled: Cluster) -> None:
    with Contender(command(Name.WIRE, filled.kubeconfig)) as wire:
        assert wire.synced.bytes > PODS * 5_000


def test_after_the_restart_a_watch_from_before_is_gone(filled: Cluster) -> None:
    before = filled.etcd.revision()
    server.restart_api_server(filled)
    with Loader(endpoint(filled)) as loader:
        check_gone(loader, before)
        with pytest.raises(RuntimeError, match="was answered"):
            check_gone(loader, filled.etcd.revision())


def test_a_contender_that_fails_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="cannot read kubeconfig"),
        Contender(command(Name.OURS, tmp_path / "none")),
    ):
        pass
