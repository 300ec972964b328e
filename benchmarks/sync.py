"""How fast, and with how little, our store takes in a large cluster, against client-go and the bare wire.

One real API server holds the recipe's cluster, nothing beside it changes anything. Each contender is a
fresh process; rounds alternate them in a rotated order. Wall runs from just before the first request
until pods and nodes are both synced; CPU is what the process used in that time; peak RSS is the highest
since its start until a little after. Then ours and the tuned informer, in turn: the API server
is restarted so that it answers 410 to a watch from before (a twentieth of the pods has changed
meanwhile), and after that the updates come.
"""

from __future__ import annotations

import sys
import time
from http import HTTPStatus

import msgspec

from benchmarks import build, machine
from benchmarks.contender import Contender, Name, Report, command
from benchmarks.events import Updates
from benchmarks.figures import LIMITS, Contest, Phase, Run, contest, ratios, tables, verdict
from benchmarks.fill import filled
from benchmarks.loader import Loader
from benchmarks.progress import say
from benchmarks.recipe.base import Json
from benchmarks.server import copy_tree, endpoint, restart_api_server, serving, workspace
from shiplift.local.cluster import Cluster

DESCRIPTION = "our store, client-go's informers and the bare wire take in a large cluster"
FULL_PODS, FULL_NODES = 50_000, 2_000
RATE = 200
"""Updates a second, at most."""
_SETTLE = 2.0


class Size(msgspec.Struct, frozen=True):
    """How large the cluster is and how long the measurement takes."""

    pods: int
    nodes: int
    rounds: int
    events: int
    rate: int


def run(size: Size) -> Json:
    if sys.platform != "linux":
        raise SystemExit("this benchmark measures processes through /proc, which only Linux has")
    about = machine.describe()
    build.program()
    kept = filled(size.pods, size.nodes)
    with workspace() as folder:
        copy_tree(kept, folder / "etcd")
        with serving(folder / "etcd", folder) as cluster:
            runs = _rounds(cluster, size)
            phases = _phases(cluster, size)
    contests = {name: contest(those) for name, those in runs.items()}
    found = ratios(contests, phases)
    print(tables(contests, phases))
    print(verdict(found, judged=size.pods >= FULL_PODS))
    return found | _details(size, about, contests, runs, phases)


def _details(
    size: Size,
    about: Json,
    contests: dict[Name, Contest],
    runs: dict[Name, list[Run]],
    phases: dict[Name, Phase],
) -> Json:
    return {
        "limits": LIMITS,
        "size": size,
        "machine": about,
        "wire_bytes": runs[Name.WIRE][0].synced.bytes,
        "sync": contests,
        "after": phases,
    }


def _rounds(cluster: Cluster, size: Size) -> dict[Name, list[Run]]:
    say("warming up the API server")
    _one(Name.WIRE, cluster, size)
    runs: dict[Name, list[Run]] = {name: [] for name in Name}
    names = list(Name)
    for number in range(size.rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            runs[name].append(_one(name, cluster, size))
            synced = runs[name][-1].synced
            say(f"round {number + 1} of {size.rounds}: {name}: {synced.wall:.2f} s, CPU {synced.cpu:.2f} s")
    return runs


def _one(name: Name, cluster: Cluster, size: Size) -> Run:
    with Contender(command(name, cluster.kubeconfig)) as contender:
        synced = contender.synced
        if name is Name.WIRE:
            return Run(synced, synced)
        _check(name, synced, size)
        time.sleep(_SETTLE)
        return Run(synced, contender.ask("report"))


def _check(name: Name, report: Report, size: Size) -> None:
    if (report.pods, report.nodes) != (size.pods, size.nodes):
        raise RuntimeError(f"{name} has {report.pods} pods and {report.nodes} nodes instead of {size}")


def _phases(cluster: Cluster, size: Size) -> dict[Name, Phase]:
    updates = Updates(size.pods, size.nodes)
    return {name: _phase(name, cluster, size, updates) for name in (Name.TUNED, Name.OURS)}


def _phase(name: Name, cluster: Cluster, size: Size, updates: Updates) -> Phase:
    with Contender(command(name, cluster.kubeconfig)) as contender:
        time.sleep(_SETTLE)
        steady = contender.ask("mark")
        say(f"{name}: relist")
        relisted = _relist(contender, cluster, size, updates)
        _check(name, relisted, size)
        say(f"{name}: updates")
        time.sleep(_SETTLE)
        return Phase(steady, relisted, _update(contender, cluster, size, updates))


def _relist(contender: Contender, cluster: Cluster, size: Size, updates: Updates) -> Report:
    contender.pause()
    seen = cluster.etcd.revision()
    restart_api_server(cluster)
    with Loader(endpoint(cluster)) as loader:
        check_gone(loader, seen)
        pods = updates.make(loader, size.pods // 20, size.rate)
        nodes = updates.touch_node(loader)
    contender.resume()
    return contender.ask("until", pods, nodes)


def check_gone(loader: Loader, version: int) -> None:
    """The server must answer 410 to a watch from that version, or there would be no relist."""
    watch = f"/api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion={version}"
    answer = loader.get_text(watch)
    if f'"code":{HTTPStatus.GONE:d}' not in answer:
        raise RuntimeError(f"a watch from version {version} was answered {answer[:200]!r}")


def _update(contender: Contender, cluster: Cluster, size: Size, updates: Updates) -> Report:
    contender.ask("mark")
    with Loader(endpoint(cluster)) as loader:
        latest = updates.make(loader, size.events, size.rate)
    return contender.ask("until", latest, 0)
