"""What a person should know before anything moves: data that stays behind, images that may not run.

Found once, when the target is written down; told for as long as workloads are moved to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from shiplift.api.workloads import OnUnknownArchitecture
from shiplift.drain.own import ALONE
from shiplift.facts.pods import PodSpec
from shiplift.workloads.decide.architectures import Architectures
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Tally, View

_MOST_NAMED = 5


def forewarnings(view: View) -> tuple[str, ...]:
    """One line for each thing to know, with the first few workloads that it is about."""
    tallies = [tally for tally in view.tallies.values() if not tally.skipped]
    others = [tally for tally in tallies if tally.id != view.own_workload]
    return (
        *_moves_itself(view),
        *_never_seen(view, tallies),
        *_left_behind(others, "emptyDir", lambda spec: spec.empty_dir, "is lost when their pods move"),
        *_left_behind(tallies, "hostPath", lambda spec: spec.host_path, "stays on the old nodes"),
    )


def _moves_itself(view: View) -> Iterator[str]:
    """Where the operator runs in one pod that has to move."""
    ours = view.own_workload
    tally = view.tallies.get(ours) if ours else None
    if tally is not None and view.own.alone and not tally.skipped and tally.away:
        yield f"pod {view.own.name} {ALONE}"


def _never_seen(view: View, tallies: Iterable[Tally]) -> Iterator[str]:
    found: defaultdict[str, list[WorkloadId]] = defaultdict(list)
    architectures = Architectures(view)
    for tally in tallies:
        if (one := architectures.unseen(tally.row.template)) is not None:
            found[one.architecture].append(tally.id)
    waits = view.spec.on_unknown_architecture is OnUnknownArchitecture.WAIT
    what = "they wait until they are" if waits else "they move all the same"
    for own, ids in sorted(found.items()):
        yield f"images never seen to run on {own}, as target nodes are: {_named(ids)}; {what}"


def _left_behind(
    tallies: Iterable[Tally], kind: str, has: Callable[[PodSpec], bool], what: str
) -> Iterator[str]:
    found = [tally.id for tally in tallies if has(tally.row.template)]
    if found:
        yield f"data in {kind} volumes {what}: {_named(found)}"


def _named(ids: Iterable[WorkloadId]) -> str:
    names = [str(id_) for id_ in sorted(ids)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
