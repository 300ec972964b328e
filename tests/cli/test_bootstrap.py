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


def test_credentials_are_written_into_no_file_that_is_there(
    given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(given, "--kubeconfig-to", str(given / "key")) == 1
    assert "is there already" in capsys.readouterr().err
    assert run(given, "--kubeconfig-to", str(given / "none/admin.conf")) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert run(given / "none") == 1
    assert "cannot read" in capsys.readouterr().err
