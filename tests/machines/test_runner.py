"""What runs on a machine: what it finds there, by files alone."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shiplift.machines.model import Facts
from shiplift.machines.ssh import runner

KUBEADMS_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")


RECORD = {
    "id": "agent-1",
    "number": 1,
    "run": "r",
    "started": "2026-11-17T09:00:00Z",
    "deadline": "2026-11-17T09:10:00.123456Z",
    "limit": 600.0,
    "digest": "",
    "boot": "b",
}
"""As versions before this one have written it."""
MARK = {"cluster": "c", "first": "m1", "name": "m1", "pool": "p", "role": "Worker", "leads": "laptop"}


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
        *((f"etc/kubernetes/manifests/{name}.yaml", False) for name in KUBEADMS_PODS),
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


@pytest.mark.parametrize("name", ["kube-vip.yaml", "haproxy.yaml", "etcd.yaml.bak", "kube-proxy.yaml"])
def test_a_static_pod_of_somebody_else_is_no_trace_of_kubeadm(name: str, tmp_path: Path) -> None:
    put(tmp_path, f"etc/kubernetes/manifests/{name}", "kind: Pod\n")
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
        put(tmp_path, f"own/journal/{name}/record.json", json.dumps({**RECORD, "id": name, "number": number}))
    told = [one["id"] for one in runner.journal({"folder": str(tmp_path / "own")})[0]]
    assert (told[0], told[-1], len(told)) == ("init-1", "network-1", 2 + runner.MOST_ASKED)
    assert admitted[-1] in told


def test_who_was_admitted_before_many_others_is_admitted_again(tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    times = {"started": "2026-11-17T09:00:00Z", "deadline": "2026-11-17T09:10:00Z"}

    def admit(name: str) -> dict[str, Any]:
        more = {"run": "r", "limit": 60, "digest": "", "commands": [["echo", name]]}
        return runner.answer({"op": "ask", "folder": own, "id": name, **times, **more})

    for number in range(1, runner.MOST_ASKED + 2):
        assert admit(f"admit-w-{number}-1") == {"ok": {"said": [f"admit-w-{number}-1\n"]}}
    known = msgspec.convert(facts(tmp_path), Facts, strict=False)
    assert known.last("admit-w-1") is None
    for _ in range(2):
        assert "ok" in admit("admit-w-1-1")
    known = msgspec.convert(facts(tmp_path), Facts, strict=False)
    assert [one.id for one in known.commands if one.purpose == "admit-w-1"] == ["admit-w-1-2", "admit-w-1-3"]


def test_a_disk_without_room_ends_no_command(tmp_path: Path) -> None:
    class Full:
        def write(self, _: bytes) -> None:
            raise OSError(28, "No space left on device")

    tail = runner.Tail(Full())
    tail.add(b"said all the same\n")
    assert tail.text == "said all the same\n"


@pytest.mark.parametrize("systemd", [True, False])
def test_a_command_leaves_the_session_that_began_it_where_systemd_could_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, systemd: bool
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(runner, "SYSTEMD", str(tmp_path if systemd else tmp_path / "none"))

    def run(words: list[str], seconds: float) -> None:
        ran.append(words)

    monkeypatch.setattr(runner, "run", run)
    runner.leave_the_session("init-1")
    assert [words[0] for words in ran] == ["systemd-run"] * systemd
    assert all(f"--unit=shiplift-init-1-{os.getpid()}" in words for words in ran)


@pytest.mark.parametrize("lives", [True, False])
def test_what_was_half_written_when_the_power_went_is_cleared_away(tmp_path: Path, lives: bool) -> None:
    entry = tmp_path / "restart-1"
    entry.mkdir()
    (entry / ".exit.x").write_text('{"co')
    with (entry / "lock").open("w") as lock:
        if lives:
            fcntl.flock(lock, fcntl.LOCK_EX)
        assert runner.held(entry) is lives
    assert (entry / ".exit.x").exists() is lives


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("", "it is empty, or not there"),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "it is no object"),
        (json.dumps({**MARK, "role": "Master"}), "there is no role 'Master'"),
        (json.dumps({**MARK, "leads": 5}), "leads is 5"),
        (json.dumps({**MARK, "pool": None}), "pool is None"),
        (json.dumps({key: MARK[key] for key in MARK if key != "first"}), "first is missing"),
    ],
)
def test_a_mark_that_is_none_of_ours_is_named(written: str, wrong: str, tmp_path: Path) -> None:
    put(tmp_path, "own/mark.json", written)
    found = facts(tmp_path)
    assert (found["mark"], found["mark_error"]) == (None, f"{tmp_path}/own/mark.json: {wrong}")


def test_a_folder_in_the_place_of_the_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / "own/mark.json").mkdir(parents=True)
    assert facts(tmp_path)["mark_error"] == f"{tmp_path}/own/mark.json: Is a directory"


RAN = {"begun": "", "lock": ""}
DAMAGED = [
    ({"record.json": ""}, "record.json: it is empty, or not there"),
    (RAN, "record.json: it is empty, or not there"),
    ({"record.json": json.dumps({**RECORD, "started": "yesterday"})}, "record.json: started is 'yesterday'"),
    (
        {"record.json": json.dumps({**RECORD, "deadline": "2026-11-17T09:00:00"})},
        "record.json: deadline is '2026-11-17T09:00:00'",
    ),
    ({"record.json": json.dumps({**RECORD, "id": "init-1"})}, "record.json: id is 'init-1'"),
    ({"record.json": json.dumps({**RECORD, "number": "1"})}, "record.json: number is '1'"),
    (
        {**RAN, "record.json": json.dumps(RECORD), "exit.json": '{"code": 0, "timed_'},
        "exit.json: Unterminated string starting at: line 1 column 13 (char 12)",
    ),
    (
        {**RAN, "record.json": json.dumps(RECORD), "exit.json": '{"code": null}'},
        "exit.json: code is None",
    ),
]


@pytest.mark.parametrize(("files", "wrong"), DAMAGED, ids=[wrong for _, wrong in DAMAGED])
def test_an_entry_of_the_journal_that_is_damaged_is_named_and_hides_no_other(
    files: dict[str, str], wrong: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        put(tmp_path, f"own/journal/agent-1/{name}", content)
    put(tmp_path, "own/journal/software-1/record.json", json.dumps({**RECORD, "id": "software-1"}))
    found = facts(tmp_path)
    assert [one["id"] for one in found["commands"]] == ["software-1"]
    assert found["journal_error"] == f"{tmp_path}/own/journal/agent-1/{wrong}"


def test_a_file_in_the_place_of_an_entry_is_named(tmp_path: Path) -> None:
    put(tmp_path, "own/journal/agent-1", "x")
    assert facts(tmp_path)["journal_error"] == f"{tmp_path}/own/journal/agent-1/record.json: Not a directory"


def test_nothing_is_begun_by_a_damaged_record(tmp_path: Path) -> None:
    put(tmp_path, "own/journal/agent-1/record.json", "{")
    put(tmp_path, "own/journal/agent-1/begun")
    given = {"folder": str(tmp_path / "own"), "op": "begin", "id": "agent-1", "commands": []}
    assert runner.answer(given)["error"].startswith(f"{tmp_path}/own/journal/agent-1/record.json: ")


def test_how_a_command_ended_is_read_as_it_was_written(tmp_path: Path) -> None:
    put(tmp_path, "own/journal/agent-1/record.json", json.dumps(RECORD))
    put(tmp_path, "own/journal/agent-1/exit.json", '{"code": 3, "timed_out": false, "tail": "why"}')
    found = facts(tmp_path)
    assert found["journal_error"] == ""
    assert (found["commands"][0]["state"], found["commands"][0]["code"]) == ("ended", 3)
    assert msgspec.convert(found, Facts, strict=False).commands[0].tail == "why"
