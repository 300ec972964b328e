"""The benchmark: clusters of several sizes, and on each the contenders in turn, from the same start.

A contest is over when every node runs the new version and takes pods, and the contender has finished: the
script has ended, the operator says Complete. The first contender changes no node, it ends every pod at once:
the rig's own rate, one part of the bound, comes from it. It and the script run where times are judged; on
the other clusters only what the operator asks of the API server matters.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from benchmarks import machine
from benchmarks.migrate.bound import rate_of
from benchmarks.progress import quiet, say
from benchmarks.recipe.base import Json
from benchmarks.rig import identities
from benchmarks.rollout import contenders
from benchmarks.rollout.bound import Bound, bound
from benchmarks.rollout.calls import calls
from benchmarks.rollout.contenders import Name
from benchmarks.rollout.figures import AT_MOST, Contest, Sized, figures, table, verdict
from benchmarks.rollout.observer import Observer
from benchmarks.rollout.plan import ALL, SMALL, USUAL, Size
from benchmarks.rollout.scene import Scene, built

DESCRIPTION = "the software of all nodes changed, against its bound and kubectl by script"
_PATIENCE = 7200.0
_TO_BE_SEEN = 0.1
"""Seconds before a cordon is seen in which it was asked for, at most."""


def run(sizes: Sequence[Size] = ALL, names: Sequence[Name] = tuple(Name)) -> Json:
    quiet()
    about = machine.describe()
    found = {size.nodes: _sized(size, names, alone=len(sizes) == 1) for size in sizes}
    told = figures(found)
    print(*(table(one) for one in found.values()), verdict(told, judged=_judged(sizes)), sep="\n\n")
    return told | {
        "limits": {"at_most": AT_MOST},
        "sizes": list(sizes),
        "machine": about,
        "contests": {nodes: _brief(one) for nodes, one in found.items()},
    }


def chosen(nodes: int | None, *, short: bool) -> tuple[Size, ...]:
    """The sizes that were asked for; all of them where none was."""
    if short:
        return (SMALL,)
    if nodes is None:
        return ALL
    if found := tuple(size for size in ALL if size.nodes == nodes):
        return found
    sizes = ", ".join(str(size.nodes) for size in ALL)
    raise SystemExit(f"rollout has no cluster of {nodes} nodes: --nodes is one of {sizes}")


def _judged(sizes: Sequence[Size]) -> bool:
    return SMALL not in sizes or len(sizes) > 1


def _sized(size: Size, names: Sequence[Name], *, alone: bool) -> Sized:
    """Where times are judged, and where nothing else is run, all contenders; elsewhere ours."""
    chosen_names = [name for name in names if size == USUAL or alone or name is Name.OURS]
    with built(size) as scene:
        contests = {name: _contest(name, scene) for name in chosen_names}
        return Sized(size, contests, _bound(scene, contests))


def _bound(scene: Scene, contests: dict[Name, Contest]) -> Bound | None:
    everything, ours = contests.get(Name.EVERYTHING), contests.get(Name.OURS)
    if everything is None or ours is None:
        return None
    times = scene.size.times
    rate = rate_of(everything.account.ready, times.end + times.start)
    return bound(scene.size, scene.workloads, ours.calls.evicted, rate)


def _contest(name: Name, scene: Scene) -> Contest:
    say(f"{name}: the cluster is put back")
    scene.put_back()
    with (
        scene.agents(),
        Observer(scene.rig.cluster, scene.size, scene.workloads) as observer,
        contenders.prepared(name, scene, observer) as begin,
    ):
        say(f"{name}: go")
        began, at = time.time(), time.monotonic()
        observer.begin()
        makespan, account = observer.wait_over(begin(), _PATIENCE, say)
        ended = time.time()
    say(f"{name}: {makespan:.1f} s")
    to_first = max(0.0, observer.timeline.first_cordon - at)
    who = identities.OPERATOR if name is Name.OURS else identities.GUEST
    return Contest(
        makespan=makespan,
        account=account,
        overhead=observer.timeline.overhead(),
        calls=calls(scene.rig.requests(who), began + to_first - _TO_BE_SEEN, ended),
        to_first_cordon=to_first,
    )


def _brief(one: Sized) -> Json:
    return {
        "bound": one.bound and {**msgspec.structs.asdict(one.bound), "seconds": one.bound.seconds},
        "contenders": {name.name.lower(): _contest_brief(contest) for name, contest in one.contests.items()},
    }


def _contest_brief(one: Contest) -> Json:
    account = {key: value for key, value in msgspec.structs.asdict(one.account).items() if key != "ready"}
    return {
        "makespan_s": one.makespan,
        "to_first_cordon_s": one.to_first_cordon,
        "calls": one.calls,
        "overhead": one.overhead,
        **account,
    }
