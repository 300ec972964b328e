"""The commands that machines run, as lists of words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shiplift.machines.model import Purpose
from shiplift.machines.pools import AgentPackage
from shiplift.machines.scripts import admitting, script
from tests.machines.world import wanted

ASKED = wanted(3, 1)
FIRST, SECOND, _, WORKER = ASKED.candidates


def test_packages_are_repaired_installed_and_held() -> None:
    repaired, updated, installed, held = script(ASKED, WORKER, Purpose.SOFTWARE).commands
    assert repaired[0] == "dpkg"
    assert updated[-1] == "update"
    assert installed[-4:] == ("install", "kubelet=1.36.3-*", "kubeadm=1.36.3-*", "kubectl=1.36.3-*")
    assert held == ("apt-mark", "hold", "kubelet", "kubeadm", "kubectl")


def test_init_prints_no_token() -> None:
    found = script(ASKED, FIRST, Purpose.INIT)
    assert found.commands[0][:2] == ("kubeadm", "init")
    assert {"--skip-token-print", "--skip-certificate-key-print"} <= set(found.commands[0])
    assert b'"ttl": "15m0s"' in found.files["init.yaml"]


def test_only_control_planes_ask_for_the_certificates() -> None:
    assert [one[:3] for one in admitting(ASKED, WORKER, FIRST).commands] == [("kubeadm", "token", "create")]
    for_plane = admitting(ASKED, SECOND, FIRST)
    assert [one[:3] for one in for_plane.commands] == [
        ("kubeadm", "token", "create"),
        ("kubeadm", "init", "phase"),
    ]
    assert for_plane.forget == ("init.yaml",)


def test_nobody_joins_without_being_let_in() -> None:
    with pytest.raises(ValueError, match="machine w-1 cannot join without what lets it in"):
        script(ASKED, WORKER, Purpose.JOIN)


def test_the_agent_is_installed_from_its_package() -> None:
    asked = replace(ASKED, agent=AgentPackage("0.2.0", b"deb", "d"))
    found = script(asked, WORKER, Purpose.AGENT)
    assert (found.commands, found.files) == ((("dpkg", "--install", "agent.deb"),), {"agent.deb": b"deb"})


def test_a_restart_is_systemds_and_the_network_is_applied() -> None:
    assert script(ASKED, WORKER, Purpose.RESTART).commands == (("systemctl", "reboot"),)
    assert script(ASKED, FIRST, Purpose.NETWORK).files == {"network.yaml": b"kind: List\n"}
