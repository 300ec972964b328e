"""A copy of etcd's data: from a real etcd, whole and of this moment, or not at all."""

from __future__ import annotations

import errno
import hashlib
import stat
import struct
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import etcd
from shiplift.agent.machine.etcd import Member, members, snapshot
from shiplift.facts.kinds import NAMESPACE
from shiplift.local.cluster import Cluster

BOLT = 0xED0CDAED


@pytest.fixture
def running(private_cluster: Callable[..., Cluster]) -> Cluster:
    return private_cluster()


def member(cluster: Cluster) -> Member:
    pki = cluster.layout.pki
    return Member(
        cluster.state.ports.etcd, pki / "etcd-ca.crt", pki / "etcd-client.crt", pki / "etcd-client.key"
    )


def test_a_copy_is_a_whole_database_with_what_was_stored(running: Cluster, tmp_path: Path) -> None:
    name = f"stored-{uuid.uuid4().hex}"
    with running.client() as client:
        client.create(NAMESPACE, {"metadata": {"name": name}})
    path = snapshot(member(running), tmp_path / "snapshots", "Snapshot.1.a.b")
    content = path.read_bytes()
    assert path == tmp_path / "snapshots" / "Snapshot.1.a.b.db"
    assert hashlib.sha256(content[:-32]).digest() == content[-32:]
    assert struct.unpack_from("<I", content, 16)[0] == BOLT
    assert name.encode() in content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_copy_that_is_there_is_not_made_again_and_old_ones_go(running: Cluster, tmp_path: Path) -> None:
    first = snapshot(member(running), tmp_path, "first")
    made = first.stat().st_mtime_ns
    assert snapshot(member(running), tmp_path, "first").stat().st_mtime_ns == made
    for number in range(etcd.KEPT):
        snapshot(member(running), tmp_path, f"later-{number}")
    assert sorted(path.name for path in tmp_path.glob("*")) == ["later-0.db", "later-1.db", "later-2.db"]


def test_a_copy_that_is_broken_off_leaves_nothing(
    running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = etcd._pieces  # pyright: ignore

    def fewer(member: Member) -> object:
        return list(pieces(member))[:-1]

    monkeypatch.setattr(etcd, "_pieces", fewer)
    with pytest.raises(AgentError, match="the copy of etcd's data is not whole"):
        snapshot(member(running), tmp_path, "broken")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_which_a_bit_is_wrong_leaves_nothing(
    running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its size is right: the digest alone tells."""
    pieces = etcd._pieces  # pyright: ignore

    def wrong(member: Member) -> object:
        found = list(pieces(member))
        middle = len(found) // 2
        found[middle] = bytes([found[middle][0] ^ 1]) + found[middle][1:]
        return found

    monkeypatch.setattr(etcd, "_pieces", wrong)
    with pytest.raises(AgentError, match=r"the copy of etcd's data is not whole: \d+ bytes that do not fit"):
        snapshot(member(running), tmp_path, "wrong")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_meanwhile_gets_its_room_back(
    running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(member: Member) -> Iterator[bytes]:
        yield b"the first piece"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(etcd, "_pieces", full)
    with pytest.raises(AgentError, match="could not be written: No space left on device"):
        snapshot(member(running), tmp_path, "full")
    assert list(tmp_path.iterdir()) == []


def test_its_members_are_told_by_name(running: Cluster) -> None:
    assert members(member(running)) == ("etcd",)


MEMBERS = [
    {"ID": "2", "name": "m2"},
    {"ID": "3", "peerURLs": ["https://192.0.2.3:2380"]},
    {"ID": "1", "name": "m1"},
]


def test_a_member_that_has_not_started_is_told_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd, "_answer", lambda *_: {"members": MEMBERS})
    assert members(etcd.OF_KUBEADM) == ("https://192.0.2.3:2380", "m1", "m2")


def test_an_etcd_that_is_not_there_or_not_ours_is_told(running: Cluster, tmp_path: Path) -> None:
    ours = member(running)
    with pytest.raises(AgentError, match="etcd on this machine does not answer"):
        snapshot(Member(1, ours.authority, ours.certificate, ours.key), tmp_path, "x")
    with pytest.raises(AgentError, match="etcd on this machine does not answer"):
        members(Member(1, ours.authority, ours.certificate, ours.key))
    other = running.layout.pki / "ca.crt"
    with pytest.raises(AgentError, match="CERTIFICATE_VERIFY_FAILED"):
        snapshot(Member(ours.port, other, ours.certificate, ours.key), tmp_path, "x")
    with pytest.raises(AgentError, match="etcd on this machine does not answer"):
        snapshot(Member(ours.port, ours.authority, tmp_path / "none", ours.key), tmp_path, "x")


def test_without_room_none_is_begun(
    running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiplift.agent.machine.space.free", lambda _: 1 << 20)
    with pytest.raises(AgentError, match="no room: a copy of etcd's data needs"):
        snapshot(member(running), tmp_path, "x")
    assert list(tmp_path.iterdir()) == []
