"""What runs on a machine: what it finds there, by files alone."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shiplift.machines.ssh import runner


def facts(root: Path) -> dict[str, Any]:
    return runner.facts({"root": str(root), "folder": str(root / "own"), "packages": []})


def put(root: Path, name: str, text: str = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_bare_machine_has_nothing(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemFree: 1 kB\nMemTotal:        2048000 kB\n")
    found = facts(tmp_path)
    assert (found["kubeadm"], found["joined"], found["nodes"], found["server"]) == (False, False, None, "")
    assert found["memory_mib"] == 2000


@pytest.mark.parametrize(
    ("name", "joined"),
    [
        ("etc/kubernetes/admin.conf", False),
        ("etc/kubernetes/kubelet.conf", True),
        ("etc/kubernetes/bootstrap-kubelet.conf", False),
        ("etc/kubernetes/pki/ca.crt", False),
        ("etc/kubernetes/manifests/etcd.yaml", False),
        ("var/lib/etcd/member/snap", False),
    ],
)
def test_whatever_kubeadm_leaves_behind_is_seen(name: str, joined: bool, tmp_path: Path) -> None:
    put(tmp_path, name)
    found = facts(tmp_path)
    assert (found["kubeadm"], found["joined"]) == (True, joined)


def test_an_empty_folder_of_manifests_is_what_the_package_brings(tmp_path: Path) -> None:
    (tmp_path / "etc/kubernetes/manifests").mkdir(parents=True)
    assert facts(tmp_path)["kubeadm"] is False


def test_where_the_api_server_is_stands_in_the_administrators_file(tmp_path: Path) -> None:
    put(tmp_path, "etc/kubernetes/admin.conf", "clusters:\n- cluster:\n    server: https://10.0.0.1:6443\n")
    assert facts(tmp_path)["server"] == "https://10.0.0.1:6443"


def test_a_node_is_ready_when_it_says_so() -> None:
    one = {
        "metadata": {"name": "m1"},
        "status": {"nodeInfo": {"machineID": "x"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert runner.node(one) == {"name": "m1", "machine_id": "x", "ready": True}
    assert runner.node({"metadata": {"name": "m2"}, "status": {}})["ready"] is False


@pytest.mark.parametrize("name", ["../x-1", "software", "Software-1", "a/b-1", "x-1\n", ""])
def test_a_name_that_is_none_makes_no_folder(name: str, tmp_path: Path) -> None:
    given = {"folder": str(tmp_path / "own"), "op": "begin", "id": name, "commands": []}
    assert runner.answer(given) == {"error": f"{name!r} is no name of a command"}


def test_a_host_may_have_two_hyphens_in_its_name(tmp_path: Path) -> None:
    given = {"folder": str(tmp_path / "own"), "op": "begin", "id": "admit-xn--caf-dma-12", "commands": []}
    assert runner.answer(given) == {"error": "admit-xn--caf-dma-12 is not on record"}


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    put(tmp_path, "own")
    said = runner.answer({"op": "claim", "folder": str(tmp_path / "own"), "mark": {}})
    assert said["error"].endswith(f": {tmp_path}/own/journal")


def test_what_is_to_be_forgotten_is_on_no_disk_and_gone_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, memory = tmp_path / "join-1", tmp_path / "memory"
    entry.mkdir()
    monkeypatch.setattr(runner, "MEMORY", str(memory))
    content = base64.b64encode(b"token").decode()
    request = {"files": {"join.yaml": content, "other": content}, "forget": ["join.yaml"]}
    for _ in range(2):
        runner.put(entry, request)
        assert [(entry / name).read_bytes() for name in request["files"]] == [b"token", b"token"]
    assert (memory.stat().st_mode & 0o777, len(list(memory.iterdir()))) == (0o700, 1)
    kept = [one for one in entry.iterdir() if not one.is_symlink()]
    assert [one.name for one in kept] == ["other"]
    runner.forget(entry, request)
    assert [one.name for one in entry.iterdir()] == ["other"]
    assert list(memory.iterdir()) == []


def test_it_needs_nothing_but_python(tmp_path: Path) -> None:
    """As it is sent: on standard input, the request a literal at its end."""
    request = json.dumps({"op": "facts", "folder": str(tmp_path), "packages": []})
    program = f"{Path(runner.__file__).read_text()}\n\nmain({request!r})\n"
    done = subprocess.run(
        ["/usr/bin/python3", "-I", "-"], input=program, capture_output=True, text=True, check=True
    )
    assert "machine_id" in json.loads(done.stdout)["ok"]


def test_what_a_machine_is_made_of_stays_in_sight_however_many_it_has_admitted(tmp_path: Path) -> None:
    admitted = [f"admit-w-{number}-1" for number in range(600)]
    for number, name in enumerate(["init-1", *admitted, "network-1"]):
        known = dict.fromkeys(("run", "started", "deadline", "boot", "digest"), "")
        put(tmp_path, f"own/journal/{name}/record.json", json.dumps({**known, "id": name, "number": number}))
    told = [one["id"] for one in runner.journal({"folder": str(tmp_path / "own")})]
    assert (told[0], told[-1], len(told)) == ("init-1", "network-1", 2 + runner.MOST_ASKED)
    assert admitted[-1] in told


def test_a_disk_without_room_ends_no_command(tmp_path: Path) -> None:
    class Full:
        def write(self, _: bytes) -> None:
            raise OSError(28, "No space left on device")

    tail = runner.Tail(Full())
    tail.add(b"said all the same\n")
    assert tail.text == "said all the same\n"
