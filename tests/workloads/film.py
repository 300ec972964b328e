"""Questions about every moment of a history: was it ever too few, and who went when."""

from __future__ import annotations

from collections.abc import Iterator

from tests.crash import facts
from tests.crash.recorder import moments
from tests.workloads.observer import History


def fewest_ready(history: History, *workloads: str) -> int:
    """How few pods of these workloads (`namespace/name`) were Ready, all together, at the worst moment."""
    return min(sum(map(facts.healthy, pods)) for pods in _pods(history, workloads))


def departures(history: History, workload: str) -> list[tuple[str, bool]]:
    """The pods that went, in that order, and whether all others were Ready when each began to go."""
    gone: dict[str, tuple[str, bool]] = {}
    for pods in _pods(history, (workload,)):
        for pod in filter(facts.terminating, pods):
            others = [one for one in pods if one is not pod]
            gone.setdefault(
                pod["metadata"]["uid"], (pod["metadata"]["name"], all(map(facts.healthy, others)))
            )
    return list(gone.values())


def _pods(history: History, workloads: tuple[str, ...]) -> Iterator[list[facts.Json]]:
    """Of these workloads, each time that one has changed."""
    for change, state in moments(history.trace):
        if change.key.kind == "Pod":
            yield [pod for pod in facts.kind(state, "Pod") if facts.owner(pod) in workloads]
