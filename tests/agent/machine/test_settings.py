"""What an administrator may say to an agent: little, and nothing that is misspelt."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiplift.agent import settings
from shiplift.agent.errors import SettingsError
from shiplift.agent.settings import Settings


def said(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "agent.json"
    path.write_text(text)
    return settings.load(path)


def test_without_a_file_nothing_was_said(tmp_path: Path) -> None:
    assert settings.load(tmp_path / "agent.json") == Settings()


def test_what_can_be_said(tmp_path: Path) -> None:
    text = '{"kubeadm": {"ignorePreflightErrors": ["Swap", "FileAvailable--etc-kubernetes-kubelet.conf"]}}'
    assert said(tmp_path, text) == Settings(("Swap", "FileAvailable--etc-kubernetes-kubelet.conf"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no JSON"),
        ("[]", "it has to be a JSON object"),
        ('{"kubeAdm": {}}', "it has 'kubeAdm', which is no setting of an agent"),
        ('{"kubeadm": []}', "kubeadm has to be a JSON object"),
        ('{"kubeadm": {"flags": "-x"}}', "kubeadm has 'flags', which is no setting of an agent"),
        ('{"kubeadm": {"ignorePreflightErrors": "all"}}', "has to be a list of names of checks"),
        ('{"kubeadm": {"ignorePreflightErrors": ["a,b"]}}', "has to be a list of names of checks"),
    ],
)
def test_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as raised:
        said(tmp_path, text)
    assert "agent.json" in str(raised.value)
