"""What must hold at every moment, by what programs of machines have written down, not by what bootstrap says.

- never a second init, and none but where the mark says that the cluster begins;
- no control plane joins while another does, or again before a person has looked; nobody joins before the
  cluster has begun;
- every command was on record when it began, and each that is on record began its programs once;
- all machines are of one cluster; it begins when all of them are initialised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.crash.machines.events import Command, Event, What, commands
from tests.crash.machines.scenarios import Scenario

INIT, JOIN, INSTALL = "kubeadm init", "kubeadm join", "apt-get install"
_ADMITS = "admit-"


def broken(scenario: Scenario, events: Sequence[Event]) -> list[str]:
    found = commands(events)
    return [
        *_inits(events, found, scenario),
        *_initialised(scenario, events, found),
        *_joins(found),
        *_side_by_side(found),
        *_joined_again(events, found),
        *_recorded(found),
        *_marks(found),
    ]


def _inits(events: Sequence[Event], found: Sequence[Command], scenario: Scenario) -> Iterator[str]:
    """A person who has looked may give a machine back; then it begins there once more."""
    begun = {name: 0 for name in scenario.before}
    for one in (one for one in found if one.began.verb == INIT):
        began = one.began
        undone = [each.at for each in events if each.what is What.RESET and each.machine == began.machine]
        others = [name for name, at in begun.items() if name != began.machine or max(undone, default=-1) < at]
        if others:
            yield f"a second init, on {began.machine} after {others}"
        if began.first != began.machine:
            yield f"init on {began.machine}, and its mark says that the cluster begins on {began.first!r}"
        begun[began.machine] = began.at


def _initialised(scenario: Scenario, events: Sequence[Event], found: Sequence[Command]) -> Iterator[str]:
    """Whoever joins has its software and has restarted since; when the cluster begins, everybody has."""
    for one in (one.began for one in found if one.began.verb in (INIT, JOIN)):
        wanted = scenario.fresh if one.verb == INIT else (one.machine,)
        for name in wanted:
            if not _is_initialised(name, one.at, events, found):
                yield f"{one.verb} on {one.machine} began before machine {name} was initialised"


def _is_initialised(name: str, at: int, events: Sequence[Event], found: Sequence[Command]) -> bool:
    """The agent and all other software."""
    own = [one for one in found if one.machine == name and one.began.verb == INSTALL]
    installed = [one.until for one in own if one.well and one.until < at]
    boots = [one.at for one in events if one.machine == name and one.what is What.BOOTED]
    return len(installed) > 1 and any(max(installed) < one < at for one in boots)


def _joins(found: Sequence[Command]) -> Iterator[str]:
    inits = [one for one in found if one.began.verb == INIT]
    begun = min((one.until for one in inits if one.well), default=None)
    for one in (one for one in found if one.began.verb == JOIN):
        if inits and (begun is None or one.began.at < begun):
            yield f"machine {one.machine} joins before the cluster has begun"


def _side_by_side(found: Sequence[Command]) -> Iterator[str]:
    planes = [one for one in found if one.began.verb == JOIN and one.began.control_plane]
    for number, one in enumerate(planes):
        for other in planes[number + 1 :]:
            if other.began.at < one.until:
                yield f"control planes {one.machine} and {other.machine} join at once"


def _joined_again(events: Sequence[Event], found: Sequence[Command]) -> Iterator[str]:
    """It may have left a member of etcd."""
    last: dict[str, int] = {}
    for one in (one for one in found if one.began.verb == JOIN and one.began.control_plane):
        looked = [each.at for each in events if each.what is What.RESET and each.machine == one.machine]
        since = last.get(one.machine)
        if since is not None and not any(since < at < one.began.at for at in looked):
            yield f"control plane {one.machine} joins again, and nobody has looked"
        last[one.machine] = one.began.at


def _recorded(found: Sequence[Command]) -> Iterator[str]:
    for one in found:
        if not one.began.recorded:
            yield f"{one.began.verb} on {one.machine} was not on record when it began"
    # two who ask at the same moment each get a token, which is void in minutes
    ran = (one for one in found if not one.began.entry.startswith(_ADMITS))
    times = Counter((one.machine, one.began.entry, one.began.words) for one in ran)
    for (machine, entry, words), number in times.items():
        if number > 1:
            yield f"{entry} on {machine} ran {words[0]} {number} times"


def _marks(found: Sequence[Command]) -> Iterator[str]:
    clusters = {one.began.cluster for one in found}
    if "" in clusters:
        yield "a command ran on a machine that had no mark"
    if len(clusters - {""}) > 1:
        yield f"machines are marked for {len(clusters - {''})} clusters"
