"""Clusters come up whole or not at all, go down without a trace, and are mended after a crash."""

from __future__ import annotations

import base64
import errno
import os
import socket
import stat
import subprocess
import threading
from pathlib import Path

import httpx2
import msgspec
import pytest

from shiplift.facts.kinds import CONFIG_MAP, NAMESPACE, POD, SECRET
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, Gone, Invalid
from shiplift.local import cluster as cluster_module
from shiplift.local import ports, probe, state
from shiplift.local.cluster import Cluster, names
from shiplift.local.components import API_ONLY, Component, Settings
from shiplift.local.errors import ComponentStoppedError, LocalError, NoSpaceError, PortTakenError
from tests.until import until

from .leftovers import processes_of

ETCD_ONLY = Settings(components=(Component.ETCD,))
INITIAL_EVENTS = (
    ("watch", "1"),
    ("sendInitialEvents", "true"),
    ("resourceVersionMatch", "NotOlderThan"),
    ("allowWatchBookmarks", "true"),
    ("timeoutSeconds", "1"),
)


@pytest.fixture
def fresh(clusters_folder, tmp_path, request):
    """The handle of a cluster that is not there yet, in a folder that the run's guard watches too."""
    handle = Cluster(f"fresh-{abs(hash(request.node.name)) % 10**8}", clusters_folder)
    yield handle
    handle.down()


def test_every_component_is_healthy(cluster):
    assert cluster.health() == dict.fromkeys(Component, True)


def test_a_second_up_changes_nothing(cluster):
    before = cluster.state
    cluster.up()
    assert cluster.state == before


def test_an_up_with_other_settings_is_refused(cluster):
    with pytest.raises(LocalError, match="other settings") as refused:
        cluster.up(Settings(audit=True))
    assert "down" in refused.value.hint


@pytest.mark.crash
def test_a_killed_component_is_named_and_started_again_alone(private_cluster):
    cluster = private_cluster()
    before = cluster.state
    cluster.kill(Component.ETCD)
    assert cluster.state.dead == [Component.ETCD]
    assert not cluster.health()[Component.ETCD]
    cluster.up()
    assert cluster.state.dead == []
    assert cluster.state.ports == before.ports
    assert cluster.state.processes[Component.API_SERVER] == before.processes[Component.API_SERVER]


def test_down_leaves_no_process_no_port_and_no_file(fresh):
    fresh.up(Settings(components=API_ONLY))
    port = fresh.state.ports.api
    assert processes_of(fresh.layout.folder)
    assert fresh.down()
    assert processes_of(fresh.layout.folder) == []
    assert ports.is_free(port)
    assert not fresh.layout.folder.exists()
    assert fresh.name not in names(fresh.root)


def test_a_stale_pid_file_is_ignored_and_its_pid_left_alone(fresh):
    fresh.up(ETCD_ONLY)
    known = fresh.state
    fresh.kill(Component.ETCD)
    with subprocess.Popen(["sleep", "60"]) as innocent:
        reused = msgspec.structs.replace(known.processes[Component.ETCD], pid=innocent.pid)
        stale = msgspec.structs.replace(known, processes={Component.ETCD: reused})
        state.write(fresh.layout.folder, stale)
        assert fresh.state.dead == [Component.ETCD]
        fresh.up()
        assert fresh.health()[Component.ETCD]
        fresh.kill(Component.ETCD)
        state.write(fresh.layout.folder, stale)
        assert fresh.down()
        assert not fresh.down()
        assert innocent.poll() is None
        innocent.kill()


def test_a_state_file_that_cannot_be_read_is_no_cluster(fresh):
    fresh.layout.folder.mkdir(parents=True)
    (fresh.layout.folder / "state.json").write_text('{"half": ')
    assert not fresh.exists
    fresh.up(ETCD_ONLY)
    assert all(fresh.health().values())


def test_a_port_that_is_taken_is_said_and_nothing_is_started(fresh):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(PortTakenError, match=str(taken.getsockname()[1])) as refused:
            fresh.up(Settings(components=API_ONLY, port=taken.getsockname()[1]))
    assert refused.value.hint
    assert processes_of(fresh.layout.folder) == []
    assert not fresh.exists


def test_a_repair_that_fails_stops_what_it_started(private_cluster):
    cluster = private_cluster()
    port = cluster.state.ports.api
    for component in reversed(API_ONLY):
        cluster.kill(component)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(PortTakenError, match=f"port {port} of kube-apiserver"):
            cluster.up()
    assert processes_of(cluster.layout.folder) == []


def test_a_component_that_stops_says_why(fresh):
    settings = Settings(components=API_ONLY, extra={Component.API_SERVER: ("--no-such-flag",)})
    with pytest.raises(
        ComponentStoppedError, match=r"kube-apiserver stopped while starting.*no-such-flag"
    ) as refused:
        fresh.up(settings)
    assert Path(refused.value.hint.removeprefix("its log: ")).read_text()
    assert processes_of(fresh.layout.folder) == []


@pytest.mark.usefixtures("programs")
def test_a_full_disk_is_said_before_anything_starts(small_disk):
    with pytest.raises(NoSpaceError) as refused:
        Cluster("full", small_disk).up(ETCD_ONLY)
    assert str(small_disk) in refused.value.message
    assert not (small_disk / "full/logs").exists()


@pytest.mark.usefixtures("programs")
def test_a_disk_that_fills_up_is_said_and_nothing_is_left_running(small_disk, monkeypatch):
    monkeypatch.setattr(cluster_module, "_LEAST_SPACE", 0)
    with pytest.raises(NoSpaceError):
        Cluster("full", small_disk).up(ETCD_ONLY)
    assert processes_of(small_disk) == []


def test_a_process_that_cannot_be_written_down_is_ended(fresh, monkeypatch):
    real_write = state.write

    def full(folder: Path, known: state.State) -> None:
        if known.processes:
            raise OSError(errno.ENOSPC, "no space left on device")
        real_write(folder, known)

    monkeypatch.setattr(state, "write", full)
    with pytest.raises(NoSpaceError):
        fresh.up(ETCD_ONLY)
    assert processes_of(fresh.layout.folder) == []


def test_commands_on_one_cluster_wait_for_each_other(fresh):
    failures: list[BaseException] = []

    def up() -> None:
        try:
            Cluster(fresh.name, fresh.root).up(ETCD_ONLY)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=up) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(processes_of(fresh.layout.folder)) == 1


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "../up", "-a", "a" * 60, "a.b"])
def test_a_name_that_would_leave_the_folder_is_refused(name):
    with pytest.raises(LocalError, match="cannot be the name"):
        Cluster(name)


def test_an_api_server_restarts_on_the_same_port_with_its_objects(private_cluster):
    cluster = private_cluster()
    with cluster.client() as client:
        client.create(NAMESPACE, {"metadata": {"name": "kept"}})
        port = cluster.state.ports.api
        cluster.restart(Component.API_SERVER)
        assert cluster.state.ports.api == port
        assert client.get(NAMESPACE, "kept")


@pytest.mark.crash
def test_a_killed_etcd_starts_again_with_its_objects(private_cluster):
    cluster = private_cluster()
    with cluster.client() as client:
        client.create(NAMESPACE, {"metadata": {"name": "kept"}})
        cluster.kill(Component.ETCD)
        cluster.start(Component.ETCD)
        until(lambda: cluster.health()[Component.API_SERVER])
        assert client.get(NAMESPACE, "kept")


def test_compaction_makes_the_past_gone(private_cluster):
    cluster = private_cluster()
    with cluster.client() as client:
        made = client.create(NAMESPACE, {"metadata": {"name": "past"}}).object
        version = made["metadata"]["resourceVersion"]
        client.create(NAMESPACE, {"metadata": {"name": "present"}})
        cluster.compact()
        exactly = (("resourceVersion", version), ("resourceVersionMatch", "Exact"))
        cluster.restart(Component.API_SERVER)
        with pytest.raises(Gone):
            client.raw("GET", NAMESPACE.path(), query=exactly)


def test_every_component_of_an_emulated_cluster_behaves_as_its_version(private_cluster):
    without_nodes = tuple(name for name in Component if name is not Component.KWOK)
    cluster = private_cluster(Settings(components=without_nodes, emulate="1.33", audit=True))
    assert all(cluster.health().values())
    with cluster.client() as client:
        assert b'"emulationMinor": "33"' in client.raw("GET", "/version")
        with pytest.raises(Invalid, match="sendInitialEvents"):
            client.raw("GET", POD.path(), query=INITIAL_EVENTS)


def test_the_audit_log_has_writes_but_no_secrets(private_cluster):
    cluster = private_cluster(Settings(components=API_ONLY, audit=True))
    with cluster.client() as client:
        client.create(CONFIG_MAP, {"metadata": {"name": "seen"}, "data": {"key": "plain-value"}}, "default")
        client.create(SECRET, {"metadata": {"name": "hidden"}, "stringData": {"key": "s3cr3t"}}, "default")
    until(lambda: "/secrets" in cluster.layout.audit_log.read_text())
    text = cluster.layout.audit_log.read_text()
    assert "plain-value" in text
    assert "s3cr3t" not in text


def test_a_user_without_rights_is_refused(cluster):
    nobody = credentials.Impersonation(user="nobody")
    with Client(credentials.load(cluster.kubeconfig, impersonate=nobody)) as client, pytest.raises(Forbidden):
        list(client.list(SECRET, "kube-system"))


def test_admission_is_as_in_production(cluster, namespace):
    unknown = {"serviceAccountName": "nobody", "containers": [{"name": "main", "image": "busybox"}]}
    with cluster.client() as client, pytest.raises(Forbidden, match="serviceaccount"):
        client.create(POD, {"metadata": {"name": "one"}, "spec": unknown}, namespace)


def test_tls_is_verified_with_the_cluster_s_own_authority(cluster):
    address = f"https://127.0.0.1:{cluster.state.ports.api}/version"
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx2.get(address)
    context = probe.trust(cluster.layout.pki / "ca.crt")
    assert httpx2.get(address, verify=context).status_code == 200


@pytest.mark.parametrize("certificate", [None, "admin.crt"], ids=["nobody", "the cluster's administrator"])
def test_etcd_lets_only_the_api_server_in(cluster, certificate):
    pki = cluster.layout.pki
    context = probe.trust(pki / "etcd-ca.crt", pki / certificate if certificate else None)
    with pytest.raises(OSError):  # noqa: PT011  a refused handshake shows in several ways
        probe.ask(cluster.state.ports.etcd, "/v3/kv/range", context, b'{"key":"Lw=="}')


def test_private_files_are_private(cluster):
    readable = [
        path
        for path in cluster.layout.folder.rglob("*")
        if path.suffix in (".key", ".json", ".kubeconfig", ".log", ".yaml") or path.name == "kubeconfig"
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]
    assert readable == []
    assert cluster.layout.folder.stat().st_mode & 0o077 == 0


def test_kubectl_works_with_the_kubeconfig(cluster):
    kubectl = cluster.state.programs["kubectl"]
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    shown = subprocess.run([kubectl, "version"], env=environment, capture_output=True, text=True, check=True)
    assert "Server Version: v1.36.3" in shown.stdout


def test_a_cluster_on_given_etcd_data_keeps_it_when_it_goes_down(fresh, tmp_path):
    key, value = (base64.b64encode(text).decode() for text in (b"/registry/any", b"kept"))
    settings = Settings(components=(Component.ETCD,), etcd_data=str(tmp_path / "data"))
    fresh.up(settings)
    fresh.etcd.put_back({key: value})
    fresh.down()
    fresh.up(settings)
    assert fresh.etcd.content() == {key: value}


def test_there_is_a_hint_for_a_cluster_that_is_not_there():
    with pytest.raises(LocalError, match="there is no cluster 'absent'") as refused:
        _ = Cluster("absent").state
    assert "up --name absent" in refused.value.hint


def test_whoever_names_no_cluster_that_is_there_is_told_of_one_that_is(tmp_path, monkeypatch):
    monkeypatch.setenv("SHIPLIFT_STATE", str(tmp_path))
    there = tmp_path / "clusters" / "old" / "state.json"
    there.parent.mkdir(parents=True)
    there.write_text("{}")
    with pytest.raises(LocalError) as refused:
        _ = Cluster("default").state
    assert refused.value.hint.endswith("; --name old names one that is there")
