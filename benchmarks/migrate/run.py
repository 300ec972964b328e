"""The benchmark: every contender on the same cluster in turn, each timed to the end of its clean-up.

A contest is over when every pod is Ready on a new node, the cloud has deleted all old nodes, and the
contender has finished: drainers have ended, the operator says NoUpgrade and has left nothing behind. The
first contender ends every pod at once, with neither order nor budget; the rig's own rate, one part of the
bound, comes from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from benchmarks import machine
from benchmarks.migrate import contenders
from benchmarks.migrate.alone import moves_alone
from benchmarks.migrate.bound import Bound, bound, rate_of
from benchmarks.migrate.contenders import Name
from benchmarks.migrate.figures import (
    AT_MOST,
    BELOW,
    Contest,
    bound_lines,
    figures,
    table,
    verdict,
)
from benchmarks.migrate.plan import SHORT, Size
from benchmarks.migrate.scene import Scene, built
from benchmarks.progress import quiet, say
from benchmarks.recipe.base import Json
from benchmarks.rig.accounts import Ledger
from benchmarks.rig.observer import Observer
from shiplift.facts.kinds import WORKLOAD_MIGRATION

DESCRIPTION = "a whole migration, against its bound, the seed's way, a drainer and kubectl drain"
_PATIENCE = 7200.0


def run(size: Size, names: Sequence[Name] = tuple(Name)) -> Json:
    quiet()
    about = machine.describe()
    with built(size) as scene:
        contests = {name: _contest(name, scene) for name in names}
        say("single moves")
        scene.put_back()
        alone = moves_alone(scene)
    rate = rate_of(contests[Name.EVERYTHING].account.ready, min(alone.values()))
    limit = bound(scene.workloads, alone, rate, scene.slots)
    return _told(size, about, limit, contests)


def _contest(name: Name, scene: Scene) -> Contest:
    say(f"{name}: the cluster is put back")
    scene.put_back()
    before = scene.rig.calls()
    with _observer(scene) as observer, contenders.prepared(name, scene) as begin:
        say(f"{name}: go")
        observer.begin()
        finished = begin()
        makespan, account = observer.wait_over(lambda: finished(observer.store), _PATIENCE, say)
    say(f"{name}: {makespan:.1f} s")
    return Contest(makespan, account, scene.rig.calls() - before)


def _observer(scene: Scene) -> Observer:
    ledger = Ledger(scene.workloads, scene.new)
    return Observer(scene.rig.cluster, ledger, scene.old, WORKLOAD_MIGRATION)


def _told(size: Size, about: Json, limit: Bound, contests: dict[Name, Contest]) -> Json:
    found = figures(size, limit, contests)
    print(table(size, contests), bound_lines(limit), verdict(found, judged=size != SHORT), sep="\n\n")
    return found | {
        "limits": {"at_most": AT_MOST, "below": BELOW},
        "size": size,
        "machine": about,
        "bound": {**msgspec.structs.asdict(limit), "seconds": limit.seconds},
        "contenders": {name.name.lower(): _brief(one, size) for name, one in contests.items()},
    }


def _brief(one: Contest, size: Size) -> Json:
    account = {key: value for key, value in msgspec.structs.asdict(one.account).items() if key != "ready"}
    return account | {"makespan_s": one.makespan, "calls_per_pod": one.calls / size.pods}
