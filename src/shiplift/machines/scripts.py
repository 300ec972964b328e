"""Which commands a machine runs for a purpose, as lists of words, and the files that they read."""

from __future__ import annotations

import msgspec

from shiplift.machines.kubeadm import Admission, init_text, join_text
from shiplift.machines.model import Purpose
from shiplift.machines.names import ADMIN
from shiplift.machines.pools import Candidate, Wanted

Words = tuple[str, ...]
_APT = ("apt-get", "--option=DPkg::Lock::Timeout=300", "--option=Dpkg::Options::=--force-confold", "--yes")
_TTL = "15m"


class Script(msgspec.Struct, frozen=True):
    """What a machine is given."""

    commands: tuple[Words, ...]
    files: dict[str, bytes] = {}
    forget: tuple[str, ...] = ()
    """Files that are gone when it is over."""


def script(
    wanted: Wanted,
    machine: Candidate,
    purpose: Purpose,
    *,
    again: bool = False,
    admission: Admission | None = None,
) -> Script:
    """What is run there for that purpose."""
    if purpose is Purpose.JOIN:
        if admission is None:
            raise ValueError(f"machine {machine.name} cannot join without what lets it in")
        return _join(wanted, machine, admission, again=again)
    if purpose is Purpose.SOFTWARE:
        return _software(machine)
    if purpose is Purpose.INIT:
        return _init(wanted, machine)
    return {Purpose.AGENT: _agent, Purpose.NETWORK: _network, Purpose.RESTART: _restart}[purpose](wanted)


def _software(machine: Candidate) -> Script:
    packages = machine.packages()
    install = tuple(f"{name}={version}" for name, version in packages.items())
    return Script(
        (
            ("dpkg", "--force-confold", "--configure", "-a"),
            (*_APT, "update"),
            (*_APT, "--allow-change-held-packages", "install", *install),
            ("apt-mark", "hold", *packages),
        )
    )


def _agent(wanted: Wanted) -> Script:
    if wanted.agent is None:
        raise ValueError("there is no agent to install")
    return Script((("dpkg", "--install", "agent.deb"),), {"agent.deb": wanted.agent.content})


def _restart(_wanted: Wanted) -> Script:
    return Script((("systemctl", "reboot"),))


def _init(wanted: Wanted, machine: Candidate) -> Script:
    words = ("kubeadm", "init", "--config=init.yaml", "--skip-token-print", "--skip-certificate-key-print")
    return Script((words,), {"init.yaml": init_text(wanted, machine).encode()})


def _network(wanted: Wanted) -> Script:
    if wanted.network is None:
        raise ValueError("there is no pod network to apply")
    words = ("kubectl", f"--kubeconfig={ADMIN}", "apply", "--filename=network.yaml")
    return Script((words,), {"network.yaml": wanted.network.text.encode()})


def _join(wanted: Wanted, machine: Candidate, admission: Admission, *, again: bool) -> Script:
    reset = (("kubeadm", "reset", "--force"),) if again else ()
    text = join_text(wanted, machine, admission)
    words = ("kubeadm", "join", "--config=join.yaml")
    return Script((*reset, words), {"join.yaml": text.encode()}, ("join.yaml",))


def admitting(wanted: Wanted, machine: Candidate, via: Candidate) -> Script:
    """What a control plane is asked when a machine is to join: a token, and the key of the certificates."""
    token = ("kubeadm", "token", "create", f"--ttl={_TTL}", f"--description=for machine {machine.name}")
    if not machine.control_plane:
        return Script((token,))
    upload = ("kubeadm", "init", "phase", "upload-certs", "--upload-certs", "--config=init.yaml")
    return Script((token, upload), {"init.yaml": init_text(wanted, via).encode()}, ("init.yaml",))
