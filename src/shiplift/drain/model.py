"""What a drain knows and says: verdicts on pods, and the closed lists of reasons, with words for each."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import NamedTuple

from shiplift.facts.pods import Pod


class Verdict(StrEnum):
    """What a drain does with a pod."""

    EVICT = "evict"
    """It goes."""
    GOING = "going"
    """It ends already: a drain waits until it is gone, and does no more."""
    LEAVE = "leave"
    """It stays, and a drain does not wait for it."""
    CANNOT = "cannot"
    """It would have to go and must not: nothing is drained before somebody has decided."""


class Reason(Enum):
    """Why a pod has its verdict, in words that follow its name."""

    LONG_DELETED = "should have ended long ago; its node does not answer, and nobody waits for it"
    DAEMON_SET = "a DaemonSet runs it on every node"
    MIRROR = "the node runs it from a file of its own"
    COMES_BACK = "came after the node was cordoned and tolerates that: it would come again"
    FINISHED = "has ended"
    DAEMON_SET_GONE = "its DaemonSet is gone, so nobody brings it back"
    DAEMON_SET_UNKNOWN = "whether its DaemonSet is there cannot be told"
    EMPTY_DIR = "what it keeps in emptyDir volumes is lost"
    UNMANAGED = "nobody brings it back"


class Presence(Enum):
    """Whether an owner is there. What is not in a store is unknown; only the API server says that it is
    gone."""

    THERE = "there"
    GONE = "gone"
    UNKNOWN = "unknown"


class Settings(NamedTuple):
    """What the one who drains has decided."""

    delete_empty_dir_data: bool = False
    """Evict pods although their emptyDir volumes are lost."""
    evict_unmanaged: bool = False
    """Evict pods that nobody brings back."""
    pod_grace_period: int | None = None
    """How many seconds an evicted pod may take to end; None is as long as it asks for itself."""
    skip_wait_for_delete: int = 0
    """A pod that should have ended more than so many seconds ago is not waited for; 0 waits for ever."""


class Judgement(NamedTuple):
    """A pod of the node, and what a drain does with it."""

    pod: Pod
    verdict: Verdict
    reasons: tuple[Reason, ...] = ()

    @property
    def words(self) -> str:
        return "; ".join(reason.value for reason in self.reasons)


class Hold(NamedTuple):
    """Another part of shiplift keeps a pod where it is, for a while."""

    by: str
    """Who, as people name it."""
    why: str
    unblocks: str

    def __str__(self) -> str:
        return f"held by {self.by}: {self.why}"


class Why(StrEnum):
    """Why a pod that is to go has not been asked to."""

    HELD = "Held"
    """Another part of shiplift keeps it for a while."""
    TWO_BUDGETS = "TwoBudgets"
    BUDGET_NOT_COUNTED = "BudgetNotCounted"
    NEVER_EVICTABLE = "NeverEvictable"
    """These three: no wait helps, somebody has to change a budget."""
    BUDGET_EXHAUSTED = "BudgetExhausted"
    """Its budget has nothing to give now."""
    REFUSED = "Refused"
    """The API server refused otherwise, and is asked again."""
    AFTER_OTHERS = "AfterOthers"
    """Its budget has something to give, and other pods that are drained get it first."""
    LAST = "Last"
    """It goes when all others are gone: it is the operator's own."""


FOR_EVER = frozenset((Why.TWO_BUDGETS, Why.BUDGET_NOT_COUNTED, Why.NEVER_EVICTABLE))
IN_TURN = frozenset((Why.AFTER_OTHERS, Why.LAST))
"""Nothing is in the way of these but other pods of the same drain."""


class Wait(NamedTuple):
    """A pod that is to go, and what keeps it."""

    pod: Pod
    why: Why
    message: str
    budgets: tuple[str, ...] = ()
    """By name, with their namespace."""
    unblocks: str = ""
    """What would let it go."""

    @property
    def for_ever(self) -> bool:
        return self.why in FOR_EVER


def full_name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
