"""Which commands a machine runs for a purpose, as lists of words, and the files that they read."""

from __future__ import annotations

import msgspec

from shiplift.machines.kubeadm import Admission, ignored_checks, init_text, join_text
from shiplift.machines.model import Purpose
from shiplift.machines.names import ADMIN
from shiplift.machines.pools import Candidate, Wanted

Words = tuple[str, ...]
_APT = ("apt-get", "--option=DPkg::Lock::Timeout=300", "--option=Dpkg::Options::=--force-confold", "--yes")
_INSTALL = (*_APT, "--no-remove")
"""What other people have put on a machine stays: where that would have to go, apt refuses, and says so."""
_TTL = "15m"
_AGENT_SETTINGS = "/etc/shiplift/agent.json"
_WAIT_FOR_DPKG = """\
import fcntl, sys, time
with open("/var/lib/dpkg/lock-frontend", "ab") as lock:
    for left in range(300, -1, -1):
        try:
            sys.exit(fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except OSError:
            time.sleep(1)
sys.exit("somebody holds dpkg's lock for 300 seconds")
"""
_SETTLE = """\
import json, os, sys
path, key = sys.argv[1], "ignorePreflightErrors"
with open("agent.json") as file:
    ours = json.load(file)["kubeadm"][key]
try:
    with open(path) as file:
        found = json.load(file)
except FileNotFoundError:
    found = {}
except ValueError as error:
    sys.exit(f"error: {path} is no JSON: {error}")
kubeadm = found.setdefault("kubeadm", {}) if isinstance(found, dict) else None
there = kubeadm.get(key, []) if isinstance(kubeadm, dict) else None
if not isinstance(there, list) or not all(isinstance(one, str) for one in there):
    sys.exit(f"error: in {path} kubeadm.{key} is no list of texts")
kubeadm[key] = sorted({*there, *ours})
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path + ".new", "w") as file:
    json.dump(found, file)
os.chmod(path + ".new", 0o644)
os.replace(path + ".new", path)
"""
_REPAIR: tuple[Words, ...] = (
    ("python3", "-c", _WAIT_FOR_DPKG),
    ("dpkg", "--force-confold", "--configure", "-a"),
)
"""What dpkg was interrupted in is finished. Machines upgrade themselves when they boot for the first time,
and dpkg waits for nobody, as apt does."""


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
    if purpose is Purpose.AGENT:
        return _agent(wanted, machine)
    return {Purpose.NETWORK: _network, Purpose.RESTART: _restart}[purpose](wanted)


def _software(machine: Candidate) -> Script:
    packages = machine.packages()
    install = tuple(f"{name}={version}" for name, version in packages.items())
    return Script(
        (
            *_REPAIR,
            (*_APT, "update"),
            (*_INSTALL, "--allow-change-held-packages", "install", *install),
            ("apt-mark", "hold", *packages),
        )
    )


def _agent(wanted: Wanted, machine: Candidate) -> Script:
    """Its package starts it. What kubeadm is to overlook on this machine, it overlooks in upgrades, too; what
    an administrator has put into its settings stays there."""
    if wanted.agent is None:
        raise ValueError("there is no agent to install")
    files = {"agent.deb": wanted.agent.content}
    install: tuple[Words, ...] = (*_REPAIR, (*_INSTALL, "--allow-downgrades", "install", "./agent.deb"))
    checks = ignored_checks(wanted, machine)
    if not checks:
        return Script(install, files)
    files["agent.json"] = msgspec.json.encode({"kubeadm": {"ignorePreflightErrors": checks}})
    settings = ("python3", "-c", _SETTLE, _AGENT_SETTINGS)
    return Script((settings, *install), files)


def _restart(_wanted: Wanted) -> Script:
    return Script((("systemctl", "reboot"),))


def _init(wanted: Wanted, machine: Candidate) -> Script:
    words = ("kubeadm", "init", "--config=init.yaml", "--skip-token-print", "--skip-certificate-key-print")
    return Script((_valid("init.yaml"), words), {"init.yaml": init_text(wanted, machine).encode()})


def _valid(name: str) -> Words:
    """kubeadm overlooks a field that it does not know with a warning that nobody sees: a slip would be found
    out when the cluster is there. Here it refuses the document."""
    return ("kubeadm", "config", "validate", f"--config={name}")


def _network(wanted: Wanted) -> Script:
    if wanted.network is None:
        raise ValueError("there is no pod network to apply")
    words = ("kubectl", f"--kubeconfig={ADMIN}", "apply", "--filename=network.yaml")
    return Script((words,), {"network.yaml": wanted.network.text.encode()})


def _join(wanted: Wanted, machine: Candidate, admission: Admission, *, again: bool) -> Script:
    reset = (("kubeadm", "reset", "--force"),) if again else ()
    text = join_text(wanted, machine, admission)
    words = ("kubeadm", "join", "--config=join.yaml")
    return Script((_valid("join.yaml"), *reset, words), {"join.yaml": text.encode()}, ("join.yaml",))


def admitting(wanted: Wanted, machine: Candidate, via: Candidate) -> Script:
    """What a control plane is asked when a machine is to join: a token, and the key of the certificates."""
    token = ("kubeadm", "token", "create", f"--ttl={_TTL}", f"--description=for machine {machine.name}")
    if not machine.control_plane:
        return Script((token,))
    upload = ("kubeadm", "init", "phase", "upload-certs", "--upload-certs", "--config=init.yaml")
    return Script((token, upload), {"init.yaml": init_text(wanted, via).encode()}, ("init.yaml",))
