"""What an agent writes on its Node besides claims and answers: versions as they are now, and that it lives.

The heartbeat goes on from what stands on the Node, so that it needs no memory, and is part of every write: a
write of its own is made only when nothing else was written for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shiplift.agent import protocol
from shiplift.agent.model import Machine, Seen, Write
from shiplift.agent.protocol import AGENT, Agent, ProtocolError

Annotations = dict[str, str | None]


def write(seen: Seen, machine: Machine, agent: Agent, told: Annotations, *, due: bool) -> Write | None:
    """All there is to say, in one write; None where there is nothing. `agent` is what it is and says, its
    heartbeat apart."""
    changes = _versions(seen, machine) | told
    before = _agent(seen)
    beat = before.heartbeat if before else 0
    if not changes and not due and before == replace(agent, heartbeat=beat):
        return None
    return Write(changes | {AGENT: replace(agent, heartbeat=1 + beat).written()}, seen.resource_version)


def _versions(seen: Seen, machine: Machine) -> Annotations:
    """Those that differ from what stands on the Node; of software that is not there any more, none."""
    written, there = protocol.current_versions(seen.annotations), current_versions(machine)
    gone: Annotations = {protocol.current_key(name): None for name in written if name not in there}
    return gone | {
        protocol.current_key(name): version for name, version in there.items() if written.get(name) != version
    }


def current_versions(machine: Machine) -> Mapping[str, str]:
    """The packages' versions; of the kubelet the version of the one that runs, until it is its package's."""
    package, running = machine.software.get("kubelet", ""), machine.kubelet.removeprefix("v")
    if not running or protocol.fits(running, package):
        return machine.software
    return {**machine.software, "kubelet": running}


def _agent(seen: Seen) -> Agent | None:
    """What we have said of ourselves, in this protocol."""
    try:
        agent = protocol.agent_of(seen.annotations)
    except ProtocolError:
        return None
    return agent if agent is not None and agent.protocol == protocol.PROTOCOL else None
