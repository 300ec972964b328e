"""`shiplift bootstrap`: what is refused before any host is asked."""

from __future__ import annotations

import importlib
from pathlib import Path

import asyncssh
import pytest
import yaml

from shiplift.machines.pools import read
from tests.docs.clone import ROOT
from tests.machines.world import text

main = importlib.import_module("shiplift.cli.main")
EXAMPLE = ROOT / "docs/examples/pools.yaml"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    (tmp_path / "pools.yaml").write_text(text())
    key = asyncssh.generate_private_key("ssh-ed25519")
    (tmp_path / "key").write_bytes(key.export_private_key())
    (tmp_path / "key").chmod(0o600)
    return tmp_path


def run(folder: Path, *words: str) -> int:
    return main.run(["bootstrap", "-f", str(folder / "pools.yaml"), "--ssh-key", str(folder / "key"), *words])


def test_the_example_can_be_followed() -> None:
    found = read(EXAMPLE.read_bytes())
    assert [one.name for one in found.candidates] == ["cp-1", "cp-2", "cp-3", "w-1", "w-2"]
    assert len(list(yaml.safe_load_all(EXAMPLE.read_text()))) == 3


def test_a_key_that_others_can_read_is_named(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given / "key").chmod(0o640)
    assert run(given) == 1
    said = capsys.readouterr().err
    assert said == (
        f"error: key {given}/key can be read by others: its mode is 0640\nhint: chmod 600 {given}/key\n"
    )


def test_the_public_half_of_a_key_is_named(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given / "key").write_text("ssh-ed25519 AAAA somebody\n")
    (given / "key").chmod(0o644)
    assert run(given) == 1
    assert capsys.readouterr().err == (
        f"error: {given}/key is the public half of a key\nhint: name the private one, without .pub\n"
    )


def test_a_file_that_cannot_be_followed_is_named(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given / "pools.yaml").write_text(text(3).replace("controlPlaneEndpoint", "clusterName"))
    assert run(given, "--dry-run") == 1
    assert capsys.readouterr().err.startswith("error: 3 control planes need a controlPlaneEndpoint\nhint: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [("a: [", "is no YAML"), ("", "has no objects"), ("- 1", "has no objects"), ("a: 1", "has no objects")],
)
def test_a_pod_network_that_is_no_manifest_is_named(
    content: str, message: str, given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (given / "network.yaml").write_text(content)
    assert run(given, "--pod-network", str(given / "network.yaml")) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_pod_network_may_be_written_as_other_systems_do(encoding: str, given: Path) -> None:
    """PowerShell's `>` writes UTF-16."""
    module = importlib.import_module("shiplift.cli.bootstrap")
    (given / "network.yaml").write_bytes("kind: List\nitems: []\n".encode(encoding))
    assert module._manifest(given / "network.yaml").text == "kind: List\nitems: []\n"


def test_a_pod_network_that_is_no_text_is_named(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given / "network.yaml").write_bytes(b"kind: \xff\xfe\n")
    assert run(given, "--pod-network", str(given / "network.yaml")) == 1
    assert "network.yaml is no YAML" in capsys.readouterr().err


def test_credentials_are_written_into_no_file_that_is_there(
    given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (given / "key").read_bytes()
    assert run(given, "--kubeconfig-to", str(given / "key"), "--dry-run") == 1
    assert f"{given}/key is there already, and left as it is" in capsys.readouterr().err
    assert (given / "key").read_bytes() == before
    assert run(given, "--kubeconfig-to", str(given / "none/admin.conf")) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert run(given / "none") == 1
    assert "cannot read" in capsys.readouterr().err


def test_credentials_that_nobody_gave_are_told_and_how_they_are_got(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("shiplift.cli.bootstrap")
    path = tmp_path / "admin.conf"
    module._hand_over(path, "", read(text().encode()), complete=True)
    assert capsys.readouterr().err == (
        f"{path} was not written: no control plane gave the credentials of an administrator\n"
        "hint: ssh root@10.0.0.10 cat /etc/kubernetes/admin.conf\n"
    )
    module._hand_over(path, "credentials", read(text().encode()), complete=True)
    assert path.read_text() == "credentials"


def test_how_credentials_are_got_names_the_port_and_becomes_root() -> None:
    module = importlib.import_module("shiplift.cli.bootstrap")
    file = text().replace("10.0.0.10,", "10.0.0.10, port: 2222,").replace("static:", "static:\n    user: ops")
    told = module._fetching(read(file.encode()))
    assert told == "ssh -p 2222 ops@10.0.0.10 sudo cat /etc/kubernetes/admin.conf"
