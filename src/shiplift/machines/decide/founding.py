"""Which cluster it is and where it begins; never a second one.

What is kept true: a new cluster begins only when every host that may have begun one has answered, and has
not; it begins on the machine that is on record, and on no other, whatever becomes of that machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from shiplift.machines.decide.stand import PATIENCE
from shiplift.machines.model import Founding, Mark, Reason, Silent, View
from shiplift.machines.names import FOLDER


class Line(NamedTuple):
    """Why nothing is done; it may pass by itself where `waits`."""

    reason: Reason
    message: str
    hint: str
    waits: bool = False


def founding(view: View, now: datetime) -> Founding | Line:
    marks = {name: facts.mark for name in view.hosts if (facts := view.known(name)) and facts.mark}
    clusters = {mark.cluster: name for name, mark in marks.items()}
    if len(clusters) > 1:
        one, other = sorted(clusters.values())[:2]
        text = f"machines {one} and {other} belong to different clusters"
        return Line(Reason.TWO_CLUSTERS, text, _leave_one(view, marks))
    return _on_record(view, next(iter(marks.values())), now) if marks else _new(view, now)


def _leave_one(view: View, marks: Mapping[str, Mark]) -> str:
    """Two people may have begun at the same time: machines on which nothing has happened are given back."""
    known = {name: facts for name in marks if (facts := view.known(name)) is not None}
    begun = {one.mark.cluster for one in known.values() if one.mark and one.begun}
    if len(begun) > 1:
        return "leave the machines of one of them out of the file"
    kept = next(iter(begun), "") or min(mark.cluster for mark in marks.values())
    given = sorted(name for name, mark in marks.items() if mark.cluster != kept)
    told = f"nothing has begun on {', '.join(given)}"
    return f"{told}: `rm -r {FOLDER}` there gives a machine back, then run it again"


def _on_record(view: View, mark: Mark, now: datetime) -> Founding | Line:
    first, there = mark.first, exists(view, mark.cluster)
    if not there and first not in view.hosts:
        text = f"the cluster begins on machine {first}, which no pool has"
        return Line(Reason.FIRST_UNKNOWN, text, f"put {first} back into its pool")
    if there and first not in view.hosts and not _admits(view):
        text = f"the cluster began on machine {first}, and no control plane of it is in the file"
        return Line(Reason.FIRST_UNKNOWN, text, f"put {first}, or another of its control planes, into a pool")
    silent = view.silent(first)
    if not there and silent is not None and silent.seen is None:
        text = f"the cluster begins on machine {first}, which {silent.told}"
        hint = silent.hint or "bring it back: a second cluster is never begun"
        return Line(Reason.FIRST_SILENT, text, hint, waits=patient(silent, now))
    return Founding(mark.cluster, first, begun=True)


def _admits(view: View) -> bool:
    """Whether some control plane of the file may be part of the cluster."""
    planes = [one.name for one in view.wanted.candidates if one.control_plane]
    known = [view.known(name) for name in planes]
    return any(one is None or one.joined for one in known)


def exists(view: View, cluster: str) -> bool:
    """Whether some machine is part of it, so that it has begun for certain."""
    known = (view.known(name) for name in view.hosts)
    return any(one.joined and one.mark.cluster == cluster for one in known if one is not None and one.mark)


def _new(view: View, now: datetime) -> Founding | Line:
    planes = [one for one in view.wanted.candidates if one.control_plane]
    first = next((one.name for one in planes if not one.pool.spec.paused), "")
    if not first:
        text = "no cluster begins: every pool with role ControlPlane is paused"
        return Line(Reason.PAUSED, text, "set paused of one to false")
    for name in (one.name for one in planes):
        silent = view.silent(name)
        if silent is not None:
            text = f"whether a cluster has begun is not known: host {name} {silent.told}"
            hint = (
                silent.hint or "bring it back, or take it out of its pool if it never was part of a cluster"
            )
            return Line(Reason.CONTROL_PLANE_SILENT, text, hint, waits=patient(silent, now))
    return Founding(view.fresh, first, begun=False)


def patient(silent: Silent, now: datetime) -> bool:
    """Whether waiting may still help; one that has let us in during this run may refuse while it restarts."""
    final = silent.final and silent.seen is None
    return not final and now - silent.since < PATIENCE
