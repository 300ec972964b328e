"""The commands that machines run, as lists of words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from shiplift.machines.decide.recorded import excerpt
from shiplift.machines.kubeadm import Admission
from shiplift.machines.model import Purpose
from shiplift.machines.scripts import admitting, script
from tests.machines.world import AGENT, wanted

ASKED = wanted(3, 1)
FIRST, SECOND, _, WORKER = ASKED.candidates


def test_packages_are_repaired_installed_and_held() -> None:
    waited, repaired, updated, installed, held = script(ASKED, WORKER, Purpose.SOFTWARE).commands
    assert (waited[0], repaired[0]) == ("python3", "dpkg")
    assert updated[-1] == "update"
    assert installed[-4:] == ("install", "kubelet=1.36.3-*", "kubeadm=1.36.3-*", "kubectl=1.36.3-*")
    assert held == ("apt-mark", "hold", "kubelet", "kubeadm", "kubectl")


@pytest.mark.parametrize("purpose", [Purpose.SOFTWARE, Purpose.AGENT])
def test_no_installation_removes_what_others_have_installed(purpose: Purpose) -> None:
    installs = [one for one in script(ASKED, WORKER, purpose).commands if "install" in one]
    assert [one[0] for one in installs] == ["apt-get"]
    assert all("--no-remove" in one[: one.index("install")] for one in installs)


def test_init_prints_no_token() -> None:
    found = script(ASKED, FIRST, Purpose.INIT)
    assert found.commands[-1][:2] == ("kubeadm", "init")
    assert {"--skip-token-print", "--skip-certificate-key-print"} <= set(found.commands[-1])
    assert b'"ttl": "15m0s"' in found.files["init.yaml"]


def test_kubeadm_judges_its_documents_before_anything_is_changed(authority: str) -> None:
    letting_in = Admission(endpoint="192.0.2.11:6443", ca=authority, token="abcdef.0123456789abcdef")
    init = script(ASKED, FIRST, Purpose.INIT)
    join = script(ASKED, WORKER, Purpose.JOIN, admission=letting_in, again=True)
    assert init.commands[0] == ("kubeadm", "config", "validate", "--config=init.yaml")
    assert join.commands[0] == ("kubeadm", "config", "validate", "--config=join.yaml")
    assert [one[1] for one in join.commands[1:]] == ["reset", "join"]


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
    found = script(ASKED, WORKER, Purpose.AGENT)
    assert [one[0] for one in found.commands] == ["python3", "dpkg", "apt-get"]
    assert found.commands[-1][-2:] == ("install", "./agent.deb")
    assert found.files == {"agent.deb": AGENT.content}


def test_what_kubeadm_is_to_overlook_on_a_machine_is_told_to_its_agent() -> None:
    join = {"nodeRegistration": {"ignorePreflightErrors": ["SystemVerification", "all", "a b", 7]}}
    init = {"nodeRegistration": {"ignorePreflightErrors": ["FileAvailable--etc-kubernetes-kubelet.conf"]}}
    asked = replace(ASKED, kubeadm={**ASKED.kubeadm, "InitConfiguration": init, "JoinConfiguration": join})
    of_worker, of_plane = (script(asked, one, Purpose.AGENT) for one in (WORKER, FIRST))
    assert of_worker.commands[0][0] == "python3"
    assert of_worker.commands[0][-1] == "/etc/shiplift/agent.json"
    assert of_worker.files["agent.json"] == b'{"kubeadm":{"ignorePreflightErrors":["SystemVerification"]}}'
    assert b"kubelet.conf" in of_plane.files["agent.json"]


@pytest.mark.parametrize(
    ("there", "after"),
    [
        (None, {"kubeadm": {"ignorePreflightErrors": ["Swap"]}}),
        (
            {"kubeadm": {"ignorePreflightErrors": ["Mem"]}},
            {"kubeadm": {"ignorePreflightErrors": ["Mem", "Swap"]}},
        ),
    ],
)
def test_what_an_administrator_has_put_into_the_settings_of_an_agent_stays(
    there: object, after: object, tmp_path: Path
) -> None:
    settings, said = settle(tmp_path, there if there is None else json.dumps(there))
    assert (said.returncode, said.stderr) == (0, "")
    assert json.loads(settings.read_text()) == after
    assert settings.stat().st_mode & 0o777 == 0o644


def settle(folder: Path, there: str | None) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Runs what puts a check into the settings of the agent, in that folder."""
    join = {"nodeRegistration": {"ignorePreflightErrors": ["Swap"]}}
    asked = replace(ASKED, kubeadm={**ASKED.kubeadm, "JoinConfiguration": join})
    found = script(asked, WORKER, Purpose.AGENT)
    (folder / "agent.json").write_bytes(found.files["agent.json"])
    settings = folder / "etc/agent.json"
    if there is not None:
        settings.parent.mkdir()
        settings.write_text(there)
    _python3, *words, _path = found.commands[0]
    called = [sys.executable, *words, str(settings)]
    return settings, subprocess.run(called, cwd=folder, capture_output=True, text=True, check=False)


NO_LIST = "kubeadm.ignorePreflightErrors is no list of texts"


@pytest.mark.parametrize(
    ("there", "wrong"),
    [
        ('{"kubeadm": {"ignorePreflightErrors": "Swap"}}', NO_LIST),
        ('{"kubeadm": {"ignorePreflightErrors": [1]}}', NO_LIST),
        ('{"kubeadm": {"ignorePreflightErrors": null}}', NO_LIST),
        ('{"kubeadm": null}', NO_LIST),
        ("[]", NO_LIST),
        ("", "is no JSON"),
        ("{{", "is no JSON"),
    ],
)
def test_settings_of_an_agent_that_it_could_not_read_stay_and_are_named(
    there: str, wrong: str, tmp_path: Path
) -> None:
    settings, said = settle(tmp_path, there)
    assert said.returncode == 1
    assert excerpt(said.stderr).startswith("error: ")
    assert str(settings) in said.stderr
    assert wrong in said.stderr
    assert settings.read_text() == there


@pytest.mark.parametrize("given", [{}, {"ignorePreflightErrors": "all"}, {"ignorePreflightErrors": None}])
def test_what_is_no_list_of_checks_is_left_to_kubeadm(given: object) -> None:
    asked = replace(ASKED, kubeadm={**ASKED.kubeadm, "JoinConfiguration": {"nodeRegistration": given}})
    assert "agent.json" not in script(asked, WORKER, Purpose.AGENT).files


def test_a_restart_is_systemds_and_the_network_is_applied() -> None:
    assert script(ASKED, WORKER, Purpose.RESTART).commands == (("systemctl", "reboot"),)
    assert script(ASKED, FIRST, Purpose.NETWORK).files == {"network.yaml": b"kind: List\n"}
