"""Why bootstrap begins nothing: one ordered list of gates, each of which names the machine.

A gate that is closed stops all of it: what is wrong is wrong in the file, or has to be looked at by a person.
"""

from __future__ import annotations

from datetime import datetime

from shiplift.facts.kinds import MACHINE_POOL
from shiplift.machines.decide.choosing import Chosen
from shiplift.machines.decide.founding import Line, patient
from shiplift.machines.endpoints import place
from shiplift.machines.model import LAPTOP, Facts, Founding, Reason, View
from shiplift.machines.names import FOLDER
from shiplift.machines.pools import Candidate

CONTROL_PLANE_MIB, WORKER_MIB = 1700, 512
"""The first is what `kubeadm init` asks for."""


def nobody(view: View, now: datetime) -> Line | None:
    silent = [one for name in view.hosts if (one := view.silent(name)) is not None and one.seen is None]
    if not silent or len(silent) < len(view.hosts):
        return None
    name = next(iter(view.hosts))
    refuse = all(one.final for one in silent)
    text = f"{'no host can be used' if refuse else 'no host answers'}; {name}: {silent[0].why}"
    waits = any(patient(one, now) for one in silent)
    hint = silent[0].hint or "can this computer reach them over SSH?"
    return Line(Reason.NO_HOST_ANSWERS, text, hint, waits)


def unreadable(view: View) -> Line | None:
    for name in view.hosts:
        if (facts := view.facts(name)) and facts.mark_error:
            text = f"the mark on machine {name} cannot be read: {facts.mark_error}"
            return Line(Reason.MARK_UNREADABLE, text, "look at it there: nobody knows whose machine it is")
    planes = (one.name for one in view.wanted.candidates if one.control_plane)
    return next((line for name in planes if (line := damaged(name, view.facts(name))) is not None), None)


def damaged(name: str, facts: Facts | None) -> Line | None:
    """What cannot be read of a journal may be a cluster's beginning, or the join of a control plane."""
    if facts is None or not facts.journal_error:
        return None
    text = f"the journal of machine {name} cannot be read: {facts.journal_error}"
    hint = "look what became of that command; when it is over, remove its folder, then run it again"
    return Line(Reason.JOURNAL_UNREADABLE, text, hint)


def twice(view: View) -> Line | None:
    seen: dict[str, str] = {}
    for name in view.hosts:
        if (facts := view.known(name)) is None:
            continue
        other = seen.setdefault(facts.machine_id, name)
        if other != name:
            text = f"hosts {other} and {name} are one machine: {facts.machine_id}"
            return Line(
                Reason.ONE_MACHINE_TWICE, text, "leave one out, or give a copied machine an id of its own"
            )
    return None


def led_by_another(view: View, _chosen: Chosen, _founding: Founding) -> Line | None:
    """Two who lead would each join machines, and know nothing of each other."""
    for machine, facts in _known(view, view.wanted.candidates):
        if facts.mark is not None and facts.mark.leads != LAPTOP:
            text = f"machine {machine.name} is led by the {facts.mark.leads}, not by this computer"
            hint = f"change its pools in the cluster: kubectl edit {MACHINE_POOL.plural}"
            return Line(Reason.CLUSTER_LEADS, text, hint)
    return None


def other_pool(view: View, chosen: Chosen, _founding: Founding) -> Line | None:
    for machine, facts in _known(view, (*chosen.machines, *chosen.too_many)):
        mark, pool = facts.mark, machine.pool.metadata.name
        if mark is not None and (mark.name, mark.pool, mark.role) != (machine.name, pool, machine.role):
            taken = f"{mark.name} of pool {mark.pool} with role {mark.role}"
            text = f"machine {machine.name} of pool {pool} with role {machine.role} was taken as {taken}"
            reset = f"`kubeadm reset -f` and `rm -r {FOLDER}`" if facts.begun else f"`rm -r {FOLDER}`"
            return Line(Reason.OTHER_POOL, text, f"write it as it was taken; or {reset} there gives it back")
    return None


def other_cluster(view: View, chosen: Chosen, _founding: Founding) -> Line | None:
    hint = "leave it out; or take it out of its cluster, and `kubeadm reset` there"
    authority = {
        name: facts.ca for name in view.hosts if (facts := view.known(name)) and _is_ours(facts) and facts.ca
    }
    for machine, facts in _known(view, chosen.machines):
        if facts.mark is None and (facts.kubeadm or facts.joined):
            return Line(Reason.OTHER_CLUSTER, f"machine {machine.name} is part of another cluster", hint)
        for name, other in authority.items():
            if facts.ca and facts.ca != other:
                one, two = sorted((name, machine.name))
                text = f"machines {one} and {two} are part of different clusters"
                return Line(Reason.OTHER_CLUSTER, text, hint)
    return None


def _is_ours(facts: Facts) -> bool:
    return facts.mark is not None and facts.joined


def unfit(view: View, chosen: Chosen, founding: Founding) -> Line | None:
    """Before a cluster begins; from then on a machine that is unfit fails alone."""
    known = [] if founding.begun else _known(view, chosen.machines)
    return next((line for machine, facts in known if (line := misfit(machine, facts)) is not None), None)


def misfit(machine: Candidate, facts: Facts) -> Line | None:
    """What a machine lacks; one that is taken has passed this."""
    if facts.mark is not None:
        return None
    if not facts.root:
        text = f"user {machine.user} is not root on machine {machine.name}"
        return Line(Reason.NOT_ROOT, text, "log in as root, or let the user run sudo without a password")
    if not facts.apt:
        text = f"machine {machine.name} has no apt"
        return Line(Reason.NO_APT, text, "Debian and Ubuntu are known")
    least = CONTROL_PLANE_MIB if machine.control_plane else WORKER_MIB
    if facts.memory_mib < least:
        text = f"machine {machine.name} has {facts.memory_mib} MiB of memory, and needs {least}"
        return Line(Reason.TOO_LITTLE_MEMORY, text, "give it more, or leave it out")
    return None


def endpoint(view: View, _chosen: Chosen, _founding: Founding) -> Line | None:
    """A cluster that was made without an endpoint takes no second control plane."""
    wanted = view.wanted.endpoint
    servers = [
        facts.server for _, facts in _known(view, view.wanted.candidates) if facts.mark and facts.server
    ]
    if not wanted or not servers or place(servers[0]) == wanted:
        return None
    text = f"the cluster is at {place(servers[0])}, and its controlPlaneEndpoint is to be {wanted}"
    return Line(
        Reason.ENDPOINT_CHANGED, text, "the endpoint of a cluster is chosen when it begins, and stays"
    )


def _known(view: View, machines: tuple[Candidate, ...]) -> list[tuple[Candidate, Facts]]:
    return [(one, facts) for one in machines if (facts := view.known(one.name)) is not None]


GATES = (led_by_another, other_pool, other_cluster, unfit, endpoint)
"""In this order: what comes first is told."""
