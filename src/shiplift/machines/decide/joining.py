"""From initialised machines to nodes: one cluster begins, control planes join one at a time, then workers.

What is kept true: `kubeadm init` is begun on one machine only, and never where some machine is part of the
cluster already; what has left something behind there is never begun again. A control plane whose join was cut
off, or that was installed anew, may have left a member of etcd: a person looks first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.api.machines import MachinePhase
from shiplift.api.values import duration
from shiplift.machines.decide import recorded
from shiplift.machines.decide.founding import exists
from shiplift.machines.decide.recorded import Errand, pursue
from shiplift.machines.decide.stand import PATIENCE, Case, Stand, failed
from shiplift.machines.model import Command, CommandState, Node, Purpose, Reason, View
from shiplift.machines.names import FOLDER, admission
from shiplift.machines.pools import Candidate

_JOINING = MachinePhase.JOINING
_NETWORK_LIMIT = timedelta(minutes=2)
_RESET = "look at it there; `kubeadm reset -f` on {} gives it back, then run it again"


class Around(NamedTuple):
    """What the others are up to."""

    waits_for: tuple[str, ...] = ()
    """Machines that are still being initialised."""
    able: tuple[str, ...] = ()
    """Control planes that let others join."""
    turn: str = ""
    """The control plane whose turn it is; empty where none is left."""
    applies: str = ""
    """The control plane that applies the pod network."""

    @property
    def via(self) -> str:
        return self.able[0] if self.able else ""


def begins(case: Case) -> bool:
    """Whether the cluster begins, or has begun, on this machine. One that was installed anew, or given back,
    is no longer that: it joins the cluster that there is."""
    last = case.facts.last(Purpose.INIT.value)
    if not case.first or case.facts.kubeadm:
        return case.first
    if last is None:
        return not exists(case.view, case.founding.cluster)
    return not (last.well and _may_be_led(case.view, case.founding.cluster))


def _may_be_led(view: View, cluster: str) -> bool:
    """Whether some control plane is part of the cluster, or one that says nothing may be."""
    planes = [view.known(one.name) for one in view.wanted.candidates if one.control_plane]
    return any(
        one is None or (one.joined and one.mark is not None and one.mark.cluster == cluster) for one in planes
    )


def begin(case: Case, around: Around) -> Stand | None:
    """The cluster begins on the first machine; None when it has."""
    unrecorded = case.facts.last(Purpose.INIT.value) is None
    if unrecorded and case.facts.joined and is_node(case.view, case) in ("ready", "there"):
        return None
    if around.waits_for and case.facts.last(Purpose.INIT.value) is None:
        return _waits(f"the cluster begins when {_names(around.waits_for)} are initialised")
    what = f"begin the cluster on machine {case.name}"
    errand = Errand(Purpose.INIT, what, _limit(case.machine), _JOINING, Reason.INIT_RUNNING)
    last = recorded.last_of(case, errand)
    if last is not None and last.well:
        return None if case.facts.kubeadm else _given_back(case)
    over = last is not None and last.state is not CommandState.RECORDED
    over = over and last is not None and (last.failed or recorded.lost(last))
    if case.facts.kubeadm and (last is None or last.state is CommandState.RECORDED or over):
        said = recorded.excerpt(last.tail) if last else ""
        text = f"{what}: kubeadm init did not come to its end and left something behind"
        return failed(
            _JOINING, Reason.INIT_CUT_OFF, text + (f": {said}" if said else ""), _RESET.format(case.name)
        )
    return pursue(case, errand)


def _given_back(case: Case) -> Stand:
    """It was the only control plane; another cluster begins when somebody says so."""
    text = f"the cluster that began on machine {case.name} is gone: kubeadm has left nothing there"
    hint = f"if that is meant, `rm -r {FOLDER}` on it lets a cluster begin there again"
    left = [name for name in case.view.hosts if (facts := case.view.known(name)) and facts.joined]
    hint += f", after `kubeadm reset -f` on {_names(tuple(left))}" if left else ""
    return failed(_JOINING, Reason.CLUSTER_GONE, text, hint)


def network(case: Case) -> Stand | None:
    """The pod network is applied once for each content of the manifest."""
    manifest = case.view.wanted.network
    if manifest is None:
        return None
    what = f"apply the pod network {manifest.name}"
    return pursue(
        case, Errand(Purpose.NETWORK, what, _NETWORK_LIMIT, _JOINING, Reason.JOINING, digest=manifest.digest)
    )


def join(case: Case, around: Around) -> Stand | None:
    """It joins when its turn has come; None when it has joined."""
    role = "control plane" if case.machine.control_plane else "worker"
    errand = Errand(
        Purpose.JOIN,
        f"let machine {case.name} join as a {role}",
        _limit(case.machine),
        _JOINING,
        Reason.JOINING,
        via=_asked(case, around),
        again=case.facts.kubeadm,
    )
    last = recorded.last_of(case, errand)
    if last is not None and last.state is CommandState.RUNNING:
        return pursue(case, errand)
    return None if _has_entered(case, last) else _entering(case, around, errand, last)


def _asked(case: Case, around: Around) -> str:
    """The control plane that is to let it join: one that has refused is followed by the next."""
    return around.able[recorded.refusals(case, Purpose.JOIN) % len(around.able)] if around.able else ""


def _entering(case: Case, around: Around, errand: Errand, last: Command | None) -> Stand | None:
    """What keeps it from joining, or the join. One that had joined, and of which nothing is left, was given
    back by a person: it joins again."""
    if (kept := _was_another(case) or _still_ready(case)) is not None:
        return kept
    if last is not None and last.well:
        return _in_turn(case, around) or recorded.attempt(case, errand)
    if case.facts.kubeadm and last is None:
        text = f"machine {case.name} was made part of a cluster by somebody else"
        return failed(_JOINING, Reason.OTHER_CLUSTER, text, _RESET.format(case.name))
    if case.facts.kubeadm and case.machine.control_plane:
        said = recorded.excerpt(last.tail) if last else ""
        text = f"{errand.what}: kubeadm join did not come to its end and left something behind"
        hint = f"look whether etcd has a member {case.name}; " + _RESET.format(case.name)
        return failed(_JOINING, Reason.JOIN_CUT_OFF, text + (f": {said}" if said else ""), hint)
    return _in_turn(case, around) or pursue(case, errand)


def _still_ready(case: Case) -> Stand | None:
    """kubeadm lets nobody join under the name of a node that is Ready: after a reset it is, for a while."""
    if case.facts.kubeadm or is_node(case.view, case) != "ready":
        return None
    text = f"it was reset, and node {case.name} still counts as Ready: it joins once that has been noticed"
    return Stand(_JOINING, Reason.JOINING, text)


def _has_entered(case: Case, last: Command | None) -> bool:
    """By what its journal says; where that is gone, or a worker's join was lost or failed at its end, by its
    node: one that works is not reset."""
    if last is not None and last.well:
        return case.facts.joined or case.facts.kubeadm
    ended_badly = last is not None and (recorded.lost(last) or last.failed)
    by_node = last is None or (ended_badly and not case.machine.control_plane)
    return by_node and case.facts.joined and is_node(case.view, case) in ("ready", "there")


def _was_another(case: Case) -> Stand | None:
    """A control plane whose name is another machine's in the cluster: one that was installed anew."""
    if not case.machine.control_plane or case.facts.kubeadm or is_node(case.view, case) != "other":
        return None
    text = f"node {case.name} is another machine's: was it installed anew?"
    hint = f"remove its member of etcd; `kubectl delete node {case.name}` then lets it join as a new one"
    return failed(_JOINING, Reason.OTHER_CLUSTER, text, hint)


def _in_turn(case: Case, around: Around) -> Stand | None:
    if not around.via:
        return _waits("no control plane lets others join yet")
    if around.turn and around.turn != case.name:
        return _waits(f"control plane {around.turn} joins first")
    return None


def arrived(case: Case) -> Stand:
    """Its node is there, and Ready where a pod network was named."""
    found = is_node(case.view, case)
    wanted = case.view.wanted.network is not None
    if found == "ready":
        return Stand(MachinePhase.JOINED, Reason.READY, f"node {case.name} is Ready", done=True)
    if found == "there" and not wanted:
        text = f"node {case.name} is there, and not Ready yet; this run was given no pod network to wait for"
        return Stand(MachinePhase.JOINED, Reason.JOINED, text, done=True)
    reason = Reason.NOT_READY if found == "there" else Reason.NODE_MISSING
    text = _MISSING[found].format(case.name)
    waits = found == "unknown" and not _nobody_tells(case)
    if found == "other" or (_too_long(case) and not waits):
        return failed(_JOINING, reason, text, f"kubectl describe node {case.name} tells more")
    return Stand(_JOINING, reason, text)


_MISSING = {
    "there": "node {0} is not Ready",
    "other": "node {0} is another machine's",
    "gone": "node {0} is not there",
    "unknown": "no API server says whether node {0} is there",
}


def is_node(view: View, case: Case) -> str:
    """Whether the node of that name is this machine's."""
    nodes = view.nodes
    if nodes is None:
        return "unknown"
    node: Node | None = next((one for one in nodes if one.name == case.name), None)
    if node is None:
        return "gone"
    if node.machine_id != case.facts.machine_id:
        return "other"
    return "ready" if node.ready else "there"


def _nobody_tells(case: Case) -> bool:
    """Whether API servers have been silent for longer than one look may be: they are, while they restart."""
    since = case.view.api_silent_since
    return since is not None and case.now - since >= PATIENCE


def _too_long(case: Case) -> bool:
    commands = [case.facts.last(one.value) for one in (Purpose.INIT, Purpose.JOIN)]
    started = max((one.started for one in commands if one is not None), default=None)
    return started is None or case.now > started + _limit(case.machine)


def around(
    view: View,
    now: datetime,
    order: tuple[Candidate, ...],
    stands: Mapping[str, Stand | None],
    joined: frozenset[str],
) -> Around:
    """`stands` has where machines are that are not initialised yet; a failed one is waited for by nobody."""
    busy = tuple(name for name, one in stands.items() if one is not None and not one.failed)
    planes = [one.name for one in order if one.control_plane]
    able = [
        name for name in planes if name in joined and (facts := view.facts(name)) and facts.nodes is not None
    ]
    left = [name for name in planes if name not in joined]
    turn = next(_joining_now(view, now), "") or (left[0] if left else "")
    return Around(busy, tuple(able), turn)


def _joining_now(view: View, now: datetime) -> Iterator[str]:
    """Control planes whose join runs, also where they are silent meanwhile, or the file names them later."""
    for one in view.wanted.candidates:
        facts = view.known(one.name)
        last = facts.last(Purpose.JOIN.value) if facts is not None else None
        runs = last is not None and last.state is CommandState.RUNNING
        if one.control_plane and (runs or (facts is None and _was_let_in(view, one.name, now))):
            yield one.name


def _was_let_in(view: View, name: str, now: datetime) -> bool:
    """Whether another control plane let a machine join that has said nothing in this run, so that it may
    be at it still: its node is not there, and its time is not over."""
    known = [facts for host in view.hosts if (facts := view.known(host)) is not None]
    asked = [last for facts in known if (last := facts.last(admission(name))) is not None]
    there = any(one.name == name for one in view.nodes or ())
    return not there and any(one.well and now <= one.deadline for one in asked)


def _waits(text: str) -> Stand:
    return Stand(MachinePhase.INITIALISING, Reason.WAITS, text)


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _limit(machine: Candidate) -> timedelta:
    return duration(machine.pool.spec.join_timeout)
