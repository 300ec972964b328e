"""The plan of a drain: which pods are evicted now, which wait and why, when it is over.

What is kept true: of a budget no more pods are evicted than it has to give, those under way included; the
evictions of one budget have one lane, so that whoever sends them sends them one after the other; a pod that
goes last is evicted when no other is left. The same scene gives the same plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain

import msgspec

from shiplift.api.nodes import Blocker
from shiplift.drain.blocking import (
    Question,
    Refusal,
    Replicas,
    Taken,
    is_free,
    keeping,
    none_taken,
    not_known,
)
from shiplift.drain.model import IN_TURN, Hold, Judgement, Verdict, Wait, Why, full_name
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import allowed_alone

MOST_BLOCKERS = 20
LATE = 30
"""Seconds after the time at which a pod has to be gone; one that is not is in the way."""
_LONGEST_LINE, _LONGEST_MESSAGE = 256, 4096
_NO_REFUSALS: Mapping[str, Refusal] = {}
_NOTHING_SPENT: Mapping[str, int] = {}


def _nobody(_: Pod) -> None:
    return None


def _none_last(_: Pod) -> int:
    return 0


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """All that a plan depends on."""

    judged: Sequence[Judgement]
    """All pods of the node."""
    covering: Callable[[Pod], Sequence[PodDisruptionBudget]]
    """The budgets that select a pod, by its own labels."""
    now: float
    """Seconds since 1970."""
    replicas: Replicas = not_known
    """How many pods the owners of what a budget covers ask for, None where that is not known: a budget with a
    number as its `minAvailable` is then not said to let no pod go for ever. Asked only where it decides."""
    taken: Taken = none_taken
    """Pods, by name, that a budget counts as going though they are there and Ready: one of a StatefulSet that
    is back under its name, or one whose eviction was cut off. Asked only where a budget has such a list."""
    hold: Callable[[Pod], Hold | None] = _nobody
    """Who, besides budgets, keeps a pod for a while."""
    evicting: Collection[str] = ()
    """Pods, by uid, whose eviction is under way or was granted, and that do not show it yet."""
    spent: Mapping[str, int] = _NOTHING_SPENT
    """By the uid of a budget: what drains of other nodes take of what it has to give (see `spending`)."""
    refusals: Mapping[str, Refusal] = _NO_REFUSALS
    """By uid: what the API server answered last."""
    goes_last: Callable[[Pod], int] = _none_last
    """0 for all but the operator's own; of these, the lower ones go first."""
    volumes: tuple[str, ...] = ()
    """What is still attached, of pods that went."""


class Eviction(msgspec.Struct, frozen=True):
    """One to be sent now; those of one lane one after the other, the others side by side."""

    pod: Pod
    lane: str = ""
    """The uid of its budget."""
    counted: bool = False
    """Whether it takes one of what its budget has to give."""
    budget: str = ""
    """The name of its budget, with its namespace."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with the pods of a node; each is in one of these."""

    evictions: tuple[Eviction, ...] = ()
    waits: tuple[Wait, ...] = ()
    going: tuple[Pod, ...] = ()
    """They end, or are being evicted."""
    left: tuple[Judgement, ...] = ()
    """They stay."""
    cannot: tuple[Judgement, ...] = ()
    """They would have to go and must not."""
    volumes: tuple[str, ...] = ()

    @property
    def to_go(self) -> int:
        """How many pods have to be gone before the drain is over."""
        return len(self.evictions) + len(self.waits) + len(self.going) + len(self.cannot)

    @property
    def over(self) -> bool:
        return not self.to_go and not self.volumes

    @property
    def for_ever(self) -> tuple[Wait, ...]:
        """Pods that no wait lets go."""
        return tuple(one for one in self.waits if one.for_ever)

    @property
    def may_begin(self) -> bool:
        """Whether nothing is known that would keep the drain from ever ending."""
        return not self.cannot and not self.for_ever

    @property
    def stuck(self) -> bool:
        """Whether somebody has to help: nothing else happens any more."""
        moves = self.evictions or self.going or any(not _idle(one) for one in self.waits)
        return not moves and bool(self.cannot or self.for_ever)


def _idle(wait: Wait) -> bool:
    return wait.for_ever or wait.why is Why.LAST


def plan(scene: Scene) -> Plan:
    """The plan for what is there now."""
    pods = [one.pod for one in scene.judged if one.verdict is Verdict.EVICT]
    under_way = [pod for pod in pods if pod.uid in scene.evicting]
    going = [*(one.pod for one in scene.judged if one.verdict is Verdict.GOING), *under_way]
    waiting = [pod for pod in pods if pod.uid not in scene.evicting]
    stays = any(one.verdict is Verdict.CANNOT for one in scene.judged)
    first = 0 if going or stays else min(map(scene.goes_last, waiting), default=0)
    found = _Allotment(scene, under_way).of([pod for pod in waiting if scene.goes_last(pod) <= first])
    last = [pod for pod in waiting if scene.goes_last(pod) > first]
    return Plan(
        evictions=found.evictions,
        waits=(*found.waits, *map(_goes_last, last)),
        going=tuple(going),
        left=tuple(one for one in scene.judged if one.verdict is Verdict.LEAVE),
        cannot=tuple(one for one in scene.judged if one.verdict is Verdict.CANNOT),
        volumes=scene.volumes,
    )


def _goes_last(pod: Pod) -> Wait:
    return Wait(pod, Why.LAST, "it is the operator's own, and goes when all others are gone")


class _Allotment:
    """Gives out what budgets have to give, pod by pod."""

    def __init__(self, scene: Scene, under_way: Sequence[Pod]) -> None:
        self._scene = scene
        self._spent = Counter(scene.spent)
        self._spent.update(
            budgets[0].uid
            for pod in under_way
            if len(budgets := scene.covering(pod)) == 1 and not is_free(pod, budgets)
        )

    def of(self, pods: Sequence[Pod]) -> Plan:
        evictions, waits = list[Eviction](), list[Wait]()
        for pod in sorted(pods, key=lambda one: one.ready):
            budgets = self._scene.covering(pod)
            if (wait := keeping(self._question(pod, budgets))) is not None:
                waits.append(wait)
                continue
            lane, counted = budgets[0].uid if budgets else "", not is_free(pod, budgets)
            named = f"{budgets[0].namespace}/{budgets[0].name}" if budgets else ""
            evictions.append(Eviction(pod, lane, counted, named))
            self._spent[lane] += counted
        return Plan(evictions=tuple(evictions), waits=tuple(waits))

    def _question(self, pod: Pod, budgets: Sequence[PodDisruptionBudget]) -> Question:
        left = allowed_alone(budgets[0], self._spent[budgets[0].uid]) if len(budgets) == 1 else 0
        refusal = self._scene.refusals.get(pod.uid)
        counts = refusal is not None and refusal.again > self._scene.now
        return Question(
            pod,
            budgets,
            left,
            self._scene.replicas,
            self._scene.taken,
            self._scene.hold(pod),
            refusal if counts else None,
        )


def spending(found: Plan) -> Counter[str]:
    """What a plan takes of budgets, by uid: for the plans of other nodes that are made with it."""
    return Counter(one.lane for one in found.evictions if one.counted)


def blockers(found: Plan, now: int) -> tuple[Blocker, ...]:
    """What is in the way of the drain, as a status tells it; pods whose turn has not come yet are not."""
    waits = (_blocker(one.pod, one.message, one.unblocks, one.budgets) for one in found.waits if _blocks(one))
    cannot = (_blocker(one.pod, one.words) for one in found.cannot)
    late = (_blocker(pod, overdue) for pod in found.going if (overdue := late_words(pod, now)))
    return tuple(chain(waits, cannot, late))[:MOST_BLOCKERS]


def _blocks(wait: Wait) -> bool:
    return wait.why not in IN_TURN


def _blocker(pod: Pod, message: str, unblocks: str = "", budgets: tuple[str, ...] = ()) -> Blocker:
    text = f"{message}; {unblocks}" if unblocks else message
    return Blocker(
        pod=full_name(pod)[:_LONGEST_LINE],
        budget=" and ".join(budgets)[:_LONGEST_LINE],
        message=text[:_LONGEST_MESSAGE],
    )


def late_words(pod: Pod, now: int) -> str:
    """Why a pod that ends is in the way: it should have been gone for a while; empty where it need not be."""
    if not pod.deleting or now - pod.deleting <= LATE:
        return ""
    kept = f"finalizer {pod.finalizers[0]} keeps it" if pod.finalizers else "its node does not end it"
    return f"it should have ended {now - pod.deleting} s ago: {kept}"
