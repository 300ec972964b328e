"""Plays plans one after the other on one cluster, while somebody uses it, and tells how each ended."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from shiplift.kube.errors import KubeError
from shiplift.local.errors import LocalError
from tests.e2e.plans import End, Plan, wrong_packages
from tests.e2e.scene import Scene, Step, wait
from tests.machines import traffic
from tests.machines.rig import OLD, Rig
from tests.machines.traffic import Asking
from tests.until import until

_REACH_SECONDS, _END_SECONDS = 180.0, 420.0
"""A control plane that loses its power while kubeadm changes it takes 300 s on a quiet computer."""
_OVER = ("Complete", "Stopped")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Played:
    """A plan, and what came of it; `wrong` where that is not what had to."""

    plan: Plan
    seconds: float
    wrong: str = ""
    said: str = ""


class Report(msgspec.Struct, frozen=True):
    """The last line of a campaign."""

    plans: int
    left_out: int
    """Plans for which there was no time."""
    ended_well: int
    ended_named: int
    failed: tuple[str, ...]
    failed_requests: int
    requests: int
    overhead_per_node_s: float | None
    """Of the undisturbed upgrade: what the operator itself adds to a node's way, the median in seconds."""
    minor_minutes: float | None
    """How long the undisturbed upgrade to the next minor took; none where it was left out."""
    minutes: float


def play(rig: Rig, plan: Plan, number: int, *, last: bool = False) -> Played:
    """The machine is as before when this returns, whatever came of it; or that is what is wrong. After the
    last one nobody needs it."""
    scene, begun = Scene(rig, rig.made.host(plan.machine), f"plan-{number}"), time.monotonic()
    rig.made.publish(plan.spec["version"])
    try:
        wrong = _played(scene, plan)
    except (AssertionError, KubeError, LocalError) as error:
        wrong = f"{type(error).__name__}: {error}"[:600]
    seconds, said = time.monotonic() - begun, scene.words()
    left = "" if last else _restored(scene, plan)
    return Played(plan, seconds, wrong or left, said)


def _played(scene: Scene, plan: Plan) -> str:
    if plan.step is Step.BEFORE:
        _strike(scene, plan)
        scene.begin(**plan.spec)
    else:
        scene.begin(**plan.spec)
        until(lambda: scene.reached(plan.step), _REACH_SECONDS, 0.1)
        _strike(scene, plan)
    if plan.fault.after is not None:
        wait(plan.fault.after)
        _heal(scene, plan)
    until(lambda: _is_over(scene, plan), _END_SECONDS, 0.5)
    return _judged(scene, plan)


def _strike(scene: Scene, plan: Plan) -> None:
    scene.struck = True
    plan.fault.strike(scene)


def _heal(scene: Scene, plan: Plan) -> None:
    if scene.struck:
        plan.fault.heal(scene)
    scene.struck = False


def _is_over(scene: Scene, plan: Plan) -> bool:
    """Whether it has come to an end of its own; what is to be named has to be said, too."""
    phase = scene.status().get("phase")
    if phase == "Complete" or plan.end is End.WELL:
        return phase in _OVER
    return scene.stands_still and _settled(scene, plan)


def _settled(scene: Scene, plan: Plan) -> bool:
    """Nodes that failed are given back a moment after the rollout has stopped."""
    return re.search(plan.says, scene.words()) is not None and scene.cordoned == plan.stays_cordoned


def _judged(scene: Scene, plan: Plan) -> str:
    """What is wrong with its end; nothing, where it is as it should be."""
    phase, cordoned = scene.status().get("phase"), scene.cordoned
    if (phase == "Complete") is not (plan.end is End.WELL):
        return f"ended {phase}: {scene.words()}"
    if cordoned is not plan.stays_cordoned:
        return "the node is cordoned" if cordoned else "the node is not cordoned"
    if plan.end is End.WELL and scene.rig.kubelet(scene.host.name) != plan.spec["version"]:
        return f"its kubelet is {scene.rig.kubelet(scene.host.name)}"
    return _judged_put_back(scene, plan) if plan.put_back else ""


def _judged_put_back(scene: Scene, plan: Plan) -> str:
    """Packages, and the kubelet that runs."""
    if wrong := wrong_packages(plan.put_back, scene.installed(*plan.put_back)):
        return wrong
    running = scene.rig.kubelet(scene.host.name)
    return "" if running == OLD else f"its kubelet is {running}, and was {OLD}"


def _restored(scene: Scene, plan: Plan) -> str:
    """What is wrong with that; the next plan is played all the same."""
    try:
        _heal(scene, plan)
        scene.restore()
    except (AssertionError, KubeError, LocalError) as error:
        return f"not as before: {type(error).__name__}: {error}"[:1200]
    return ""


def campaign(
    rig: Rig, plans: Sequence[Plan], asking: Asking, say: Say, over: Callable[[], bool]
) -> list[Played]:
    """Until all are played, or `over` says that the time is."""
    found: list[Played] = []
    failed = 0
    for number, plan in enumerate(plans, 1):
        if over():
            break
        say(f"{number}/{len(plans)} {plan.name}")
        found.append(play(rig, plan, number))
        one = found[-1]
        ended = f"{f'WRONG: {one.wrong}' if one.wrong else plan.end.value}: {one.said}"
        say(f"  after {one.seconds:.0f} s {ended}")
        before, failed = failed, len(asking.so_far().failed)
        if failed > before:
            say(f"  {failed - before} requests failed meanwhile: {traffic.told(rig.client)}")
    return found
