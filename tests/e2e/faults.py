"""What goes wrong: each fault strikes a scene, and is healed after a while, or when its end has been seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shiplift import __version__
from shiplift.agent.protocol import PROTOCOL, Agent, agent_of
from shiplift.facts import kinds
from tests.e2e import keeping
from tests.e2e.scene import Scene
from tests.until import until

_CACHE = "/var/cache/shiplift-agent"
_MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
_ASIDE = "/var/tmp/kube-apiserver.yaml"
_HOLDS = """
import fcntl, time
with open("/var/lib/dpkg/lock-frontend", "ab") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    time.sleep(600)
"""
_MAKE = """set -e
rm -rf /tmp/{name} /srv/{name}; mkdir -p /tmp/{name}/DEBIAN /srv/{name}
{content}
printf 'Package: {package}\\nVersion: {version}\\nArchitecture: all\\n\
Maintainer: nobody <nobody@example.org>\\nDescription: made for a test\\n' > /tmp/{name}/DEBIAN/control
dpkg-deb -Zgzip --build /tmp/{name} /srv/{name}/{package}.deb
"""
TORN, TORN_OLD, TORN_NEW = "torn", "1.0.0", "1.0.1"
"""A package whose later patch can never be configured."""
_OFFERED = "/srv/torn"
OFFER = f"""set -e
rm -rf {_OFFERED} /tmp/torn; mkdir -p {_OFFERED} /tmp/torn/DEBIAN
make() {{
  printf 'Package: {TORN}\\nVersion: %s\\nArchitecture: all\\n\
Maintainer: nobody <nobody@example.org>\\nDescription: made for a test\\n' "$1" > /tmp/torn/DEBIAN/control
  dpkg-deb -Zgzip --build /tmp/torn {_OFFERED}/{TORN}_$1_all.deb
}}
make {TORN_OLD}
dpkg --install {_OFFERED}/{TORN}_{TORN_OLD}_all.deb
printf '#!/bin/sh\\nexit 1\\n' > /tmp/torn/DEBIAN/postinst; chmod 755 /tmp/torn/DEBIAN/postinst
make {TORN_NEW}
cd {_OFFERED}
for one in *.deb; do
  dpkg-deb --field "$one"
  echo "Filename: ./$one"; echo "Size: $(stat -c %s "$one")"
  echo "SHA256: $(sha256sum "$one" | cut -d' ' -f1)"; echo
done > Packages
echo 'deb [trusted=yes] copy:{_OFFERED} ./' > /etc/apt/sources.list.d/torn.list
"""
WITHDRAW = f"""dpkg --purge --force-remove-reinstreq {TORN}
rm -rf /etc/apt/sources.list.d/torn.list {_OFFERED} /tmp/torn"""
_AGENT, _AGENT_ASIDE = "/usr/bin/shiplift-agent", "/var/tmp/shiplift-agent"
_REWRITE = """
import io, os, sys, zipfile
program, module, old, new = sys.argv[1:]
content = open(program, "rb").read()
line = content[: content.index(b"\\n") + 1]
written = io.BytesIO()
with zipfile.ZipFile(program) as before, zipfile.ZipFile(written, "w") as after:
    for name in before.namelist():
        text = before.read(name)
        if name == module:
            assert old.encode() in text, text
            text = text.replace(old.encode(), new.encode())
        after.writestr(name, text)
with open(program + ".new", "wb") as file:
    file.write(line + written.getvalue())
os.chmod(program + ".new", 0o755)
os.replace(program + ".new", program)
"""


def _nothing(_: Scene) -> None:
    """It heals by itself."""


@dataclass(frozen=True)
class Fault:
    """By name; `after` so many seconds it is healed, None: when its end has been seen."""

    name: str
    strike: Callable[[Scene], None]
    heal: Callable[[Scene], None] = _nothing
    after: float | None = 0.0


def _kill_agent(scene: Scene) -> None:
    scene.host.run("systemctl", "kill", "--signal=KILL", "shiplift-agent")


def _stop_agent(scene: Scene) -> None:
    scene.host.run("systemctl", "stop", "shiplift-agent")


def _start_agent(scene: Scene) -> None:
    scene.host.run("systemctl", "start", "shiplift-agent")


def _become(scene: Scene, module: str, old: str, new: str) -> None:
    """The agent is one of another age: in its archive, one module says another thing."""
    scene.host.run("cp", "--preserve", _AGENT, _AGENT_ASIDE)
    scene.host.run("python3", "-", _AGENT, module, old, new, stdin=_REWRITE.encode())
    scene.host.run("systemctl", "restart", "shiplift-agent")


def _become_older(scene: Scene) -> None:
    """A release before, in the same protocol."""
    _become(scene, "shiplift/__init__.py", f'"{__version__}"', '"0.0.1"')
    until(lambda: _agent(scene).version == "0.0.1", 60, 0.5)


def _become_newer(scene: Scene) -> None:
    """A release to come, whose protocol is another."""
    _become(scene, "shiplift/agent/protocol.py", f"PROTOCOL = {PROTOCOL}", f"PROTOCOL = {PROTOCOL + 1}")
    until(lambda: _agent(scene).protocol == PROTOCOL + 1, 60, 0.5)


def _agent(scene: Scene) -> Agent:
    found = agent_of(scene.rig.notes(scene.host.name))
    assert found is not None
    return found


def _become_as_before(scene: Scene) -> None:
    scene.host.run("mv", _AGENT_ASIDE, _AGENT)
    scene.host.run("systemctl", "restart", "shiplift-agent")
    until(lambda: (_agent(scene).version, _agent(scene).protocol) == (__version__, PROTOCOL), 60, 0.5)


def _kill_work(scene: Scene) -> None:
    """It may have ended a moment ago."""
    scene.host.run("systemctl", "kill", "--signal=KILL", "shiplift-work", check=False)


def _pull_plug(scene: Scene) -> None:
    scene.host.kill()


def _plug_in(scene: Scene) -> None:
    scene.host.start()
    scene.host.wait()


def _reboot(scene: Scene) -> None:
    before = scene.host.read("/proc/sys/kernel/random/boot_id")
    scene.host.run("systemctl", "reboot", check=False)
    until(lambda: _booted(scene, before), 90, 0.5)


def _booted(scene: Scene, before: bytes) -> bool:
    return (
        scene.host.running
        and scene.host.answers
        and scene.host.read("/proc/sys/kernel/random/boot_id") != before
    )


def _cut(scene: Scene) -> None:
    scene.host.cut()


def _mend(scene: Scene) -> None:
    scene.host.mend()


def _hold_lock(scene: Scene) -> None:
    scene.host.run("systemd-run", "--unit=holder", "--collect", "--quiet", "python3", "-c", _HOLDS)


def _free_lock(scene: Scene) -> None:
    scene.host.run("systemctl", "stop", "holder", check=False)


def _leave_half_way(scene: Scene) -> None:
    """A package that was unpacked and never configured."""
    made = _MAKE.format(name="half", package="half-way", version="1.0", content="")
    scene.host.run("sh", "-c", made + "dpkg --unpack /srv/half/half-way.deb")


def _remove_half_way(scene: Scene) -> None:
    scene.host.run("dpkg", "--purge", "half-way", check=False)


def _offer_what_cannot_be_configured(scene: Scene) -> None:
    """The patch before it is installed, and both can be had."""
    scene.host.run("sh", "-c", OFFER)


def _withdraw_it(scene: Scene) -> None:
    scene.host.run("sh", "-c", WITHDRAW, check=False)


def _fill_disk(scene: Scene) -> None:
    scene.host.run("mkdir", "-p", _CACHE)
    scene.host.run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", _CACHE)


def _free_disk(scene: Scene) -> None:
    scene.host.run("umount", "--lazy", _CACHE, check=False)


def _set_cordon(scene: Scene, value: bool | None) -> None:
    uid = scene.rig.node(scene.host.name)["metadata"]["uid"]
    scene.rig.client.patch(kinds.NODE, scene.host.name, {"spec": {"unschedulable": value}}, uid=uid)


def _cordon(scene: Scene) -> None:
    _set_cordon(scene, True)


def _uncordon(scene: Scene) -> None:
    _set_cordon(scene, None)


def _keep_pods(scene: Scene) -> None:
    keeping.keep_a_pod(scene.rig.client, scene.host.name)


def _let_pods_go(scene: Scene) -> None:
    keeping.let_it_go(scene.rig.client)


def _kill_operator(scene: Scene) -> None:
    scene.rig.kill()


def _start_operator(scene: Scene) -> None:
    scene.rig.start()


def _take_api_away(scene: Scene) -> None:
    scene.rig.made.host("m1").run("mv", _MANIFEST, _ASIDE)


def _bring_api_back(scene: Scene) -> None:
    scene.rig.made.host("m1").run("mv", _ASIDE, _MANIFEST)


def _close_sources(scene: Scene) -> None:
    scene.rig.made.depot.run("systemctl", "stop", "files")


def _close_sources_and_forget(scene: Scene) -> None:
    """What was fetched before is gone, too."""
    _close_sources(scene)
    scene.host.run("rm", "-rf", _CACHE)


def _open_sources(scene: Scene) -> None:
    scene.rig.made.depot.run("systemctl", "start", "files")


AGENT_KILLED = Fault("the agent is killed", _kill_agent)
AGENT_GONE = Fault("the agent is stopped for good", _stop_agent, _start_agent, None)
AGENT_OLDER = Fault("the agent is of a release before", _become_older, _become_as_before, None)
AGENT_NEWER = Fault("the agent speaks a protocol to come", _become_newer, _become_as_before, None)
WORK_KILLED = Fault("the work is killed", _kill_work)
POWER_CUT = Fault("the machine loses its power", _pull_plug, _plug_in, 5.0)
NEVER_BACK = Fault("the machine never comes back", _pull_plug, _plug_in, None)
REBOOTED = Fault("the machine is restarted", _reboot)
CABLE_CUT = Fault("the network is lost", _cut, _mend, 20.0)
CABLE_GONE = Fault("the network is lost for good", _cut, _mend, None)
LOCK_HELD = Fault("dpkg's lock is held", _hold_lock, _free_lock, 25.0)
HALF_WAY = Fault("dpkg was left half-way", _leave_half_way, _remove_half_way, None)
CANNOT_BE_CONFIGURED = Fault(
    "a package cannot be configured", _offer_what_cannot_be_configured, _withdraw_it, None
)
DISK_FULL = Fault("the disk is full", _fill_disk, _free_disk, None)
CORDONED = Fault("somebody has cordoned the node", _cordon, _nothing, None)
UNCORDONED = Fault("somebody uncordons the node", _uncordon)
KEPT = Fault("a budget never allows", _keep_pods, _let_pods_go, None)
KEPT_AWHILE = Fault("a budget does not allow for a while", _keep_pods, _let_pods_go, 30.0)
OPERATOR_KILLED = Fault("the operator is killed", _kill_operator, _start_operator, 3.0)
API_AWAY = Fault("the API server is away", _take_api_away, _bring_api_back, 20.0)
NO_SOURCES = Fault("package sources do not answer", _close_sources_and_forget, _open_sources, None)
SOURCES_AWAY = Fault("package sources are away", _close_sources, _open_sources, 25.0)
