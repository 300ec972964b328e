"""One undisturbed upgrade from a minor to the next: three control planes behind haproxy and one worker, while
somebody uses the cluster. Then one of the control planes goes to the next patch, and never comes back."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from benchmarks.rollout.timeline import Overhead
from shiplift.facts import kinds
from shiplift.local.machines import Machines, kubeadm
from tests.e2e import campaign, faults
from tests.e2e.campaign import Played
from tests.e2e.eyes import Eyes
from tests.e2e.plans import PLANE, End, Plan
from tests.e2e.scene import Step
from tests.machines import traffic
from tests.machines.bare import Wanted, publish
from tests.machines.rig import NEW, PROGRAMS, Rig
from tests.machines.traffic import Asked, Asking
from tests.machines.witness import Witness

FROM, TO = "v1.35.4", "v1.36.3"
PLANES, WORKER = ("m1", "m2", "m3"), "m4"
ROLLOUT = "minor"
LOST = Plan(
    faults.NEVER_BACK,
    Step.APPLYING,
    End.NAMED,
    rf"{PLANE}.*TimedOut",
    {"version": NEW, "nodeTimeout": "90s"},
    machine=PLANE,
)
"""Only here do the others answer meanwhile, so that it can be said. No pod leaves a control plane whose API
server alone is upgraded, so that it is not cordoned."""
_SECONDS = 1500.0
_CONFIG = "/etc/haproxy/haproxy.cfg"
_HAPROXY = """\
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 2s
frontend api
  bind *:{port}
  default_backend planes
backend planes
  option httpchk GET /readyz
  default-server check check-ssl verify none inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions
{servers}
"""


class Planes(Rig):
    """A cluster of the earlier minor with all control planes behind one address."""

    @property
    def wanted(self) -> Wanted:
        return Wanted(FROM, PLANES, f"{self.made.depot.address}:{kubeadm.PORT}")

    def prepare(self) -> None:
        publish(self.made, FROM, TO)
        lines = [f"  server {name} {self.made.host(name).address}:{kubeadm.PORT}" for name in PLANES]
        text = _HAPROXY.format(port=kubeadm.PORT, servers="\n".join(lines))
        self.made.depot.write(_CONFIG, text.encode())
        self.made.depot.run("systemctl", "restart", "haproxy")


class Minor(msgspec.Struct, frozen=True):
    """What came of it."""

    seconds: float
    wrong: tuple[str, ...]
    seen: Asked
    overhead: Overhead | None
    lost: Played
    """A control plane that never came back, afterwards."""


def play(made: Machines, folder: Path) -> Minor:
    with Planes(made, folder) as rig:
        traffic.serve(rig.client, anywhere=True)
        asking = Asking(made.depot, made.host(WORKER).address)
        asking.start()
        rig.start()
        begun = time.monotonic()
        with Witness(rig) as witness, Eyes(rig, TO) as eyes:
            rig.roll(ROLLOUT, version=TO)
            status = rig.until_phase(ROLLOUT, "Complete", _SECONDS)
        seconds = time.monotonic() - begun
        wrong = (*_wrong(rig), *_out_of_order(witness))
        if status.get("snapshot", {}).get("machine") not in PLANES:
            wrong = (*wrong, f"etcd was not copied: {status.get('snapshot')}")
        seen = asking.stop()  # what runs on a machine that never comes back answers no more
        rig.forget(ROLLOUT)
        lost = campaign.play(rig, LOST, 0, last=True)
        return Minor(seconds, wrong, seen, eyes.overhead(), lost)


def _wrong(rig: Rig) -> list[str]:
    found = [f"left on {one}" for one in rig.residue()]
    for host in rig.made.hosts:
        versions = {rig.versions(host.name)[name] for name in PROGRAMS}
        if rig.kubelet(host.name) != TO or versions != {f"{TO.removeprefix('v')}-1.1"}:
            found.append(f"{host.name} runs {rig.kubelet(host.name)}, and has {sorted(versions)}")
    for pod in rig.client.list(kinds.POD, "kube-system"):
        if pod["metadata"]["name"].startswith(("kube-apiserver-", "kube-scheduler-", "kube-controller-")):
            image = pod["spec"]["containers"][0]["image"]
            found += [] if image.endswith(f":{TO}") else [f"{pod['metadata']['name']} is of {image}"]
    return found


def _out_of_order(witness: Witness) -> list[str]:
    """Control planes one at a time, the first with `apply`; then the worker."""
    found = [f"{witness.most_away} nodes were away at once"] if witness.most_away != 1 else []
    went = witness.upgraded(TO)
    if sorted(went[:3]) != [*PLANES] or went[3:] != [WORKER]:
        found.append(f"nodes went in the order {went}")
    orders = [one for one in witness.orders() if one[1] != "Prepare"]
    applied = [name for name, operation in orders if operation == "UpgradeApply"]
    if applied != went[:1]:
        found.append(f"kubeadm upgrade apply ran on {applied}")
    return found
