"""kubeadm is run again where its own checks fail that pass by themselves, and not otherwise."""

from __future__ import annotations

import pytest

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import kubeadm
from shiplift.agent.settings import Settings

JOB = "kubeadm failed (1): [ERROR CreateJob]: Job x did not complete in 1m0s"
OTHER = "kubeadm failed (1): [ERROR CoreDNSUnsupportedPlugins]: there are unsupported plugins"


class Kubeadm:
    """Fails as it is told, then works."""

    def __init__(self, *failures: str) -> None:
        self._failures = list(failures)
        self.runs: list[list[str]] = []

    def run(self, argv: list[str], **_: object) -> None:
        self.runs.append(argv)
        if self._failures:
            raise AgentError(self._failures.pop(0))


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(kubeadm.time, "sleep", found.append)
    return found


def use(monkeypatch: pytest.MonkeyPatch, *failures: str) -> Kubeadm:
    played = Kubeadm(*failures)
    monkeypatch.setattr(kubeadm.commands, "run", played.run)
    return played


def test_a_cluster_that_has_just_started_is_given_time(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    played = use(monkeypatch, JOB, JOB)
    kubeadm.apply("v1.36.4", Settings())
    assert played.runs == [["kubeadm", "upgrade", "apply", "v1.36.4", "--yes"]] * 3
    assert len(pauses) == 2


def test_one_that_stays_ill_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    played = use(monkeypatch, *[JOB] * 9)
    with pytest.raises(AgentError, match="CreateJob"):
        kubeadm.node(Settings())
    assert len(played.runs) == 4


def test_what_does_not_pass_by_itself_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played = use(monkeypatch, OTHER)
    with pytest.raises(AgentError, match="CoreDNS"):
        kubeadm.apply("v1.36.4", Settings())
    assert len(played.runs) == 1
