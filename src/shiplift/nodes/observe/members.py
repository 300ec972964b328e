"""Nodes in the protocol's words: each is read once for each version of its row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from msgspec import structs

from shiplift.agent.protocol import (
    AGENT,
    CHANGES_ALLOWED,
    PROTOCOL,
    Agent,
    ProtocolError,
    agent_of,
    current_versions,
    desired_versions,
    order_of,
    outcome_of,
    readiness_of,
)
from shiplift.api.machines import Machine
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY, QUARANTINED_BY, SKIP_ROLLOUT
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node, is_control_plane
from shiplift.nodes.model import Member

Place = tuple[str, bool]
"""The pool of a node's machine, and whether that is on its way out."""
_NOWHERE: Place = ("", False)


_TOLD = {"true": True, "false": False}
"""What the annotation of a cordon from before says."""


class Members:
    """Remembers what was read."""

    def __init__(self) -> None:
        self._known: dict[str, Member] = {}

    def look(self, rows: Iterable[Node], machines: Iterable[Custom]) -> dict[str, Member]:
        """All nodes, by name; those whose rows are the same are the same members."""
        places = {node: place for node, place in map(_place, machines) if node}
        found: dict[str, Member] = {}
        for row in rows:
            known, place = self._known.get(row.name), places.get(row.name, _NOWHERE)
            same = known is not None and known.row is row and (known.pool, known.leaving) == place
            found[row.name] = known if known is not None and same else member(row, place)
        self._known = found
        return found


def member(row: Node, place: Place = _NOWHERE) -> Member:
    """A node; where an annotation of its agent cannot be read, nothing of the agent's is believed."""
    notes: Mapping[str, str] = row.annotations
    plain = Member(
        row,
        control_plane=is_control_plane(row),
        pool=place[0],
        desired=desired_versions(notes),
        cordoned_by=notes.get(CORDONED_BY, ""),
        cordoned_before=_TOLD.get(notes.get(CORDONED_BEFORE, "")) if CORDONED_BY in notes else None,
        opted_out=notes.get(SKIP_ROLLOUT) == "true",
        quarantined_by=notes.get(QUARANTINED_BY, "") if row.unschedulable else "",
        was_quarantined=QUARANTINED_BY in notes and not row.unschedulable,
        leaving=place[1],
    )
    try:
        return _believed(plain, notes)
    except ProtocolError as error:
        return structs.replace(plain, problem=str(error))


def _believed(plain: Member, notes: Mapping[str, str]) -> Member:
    agent = agent_of(notes)
    if agent is not None and agent.protocol != PROTOCOL:
        raise ProtocolError(AGENT, _other_age(agent))
    return structs.replace(
        plain,
        current=current_versions(notes),
        order=order_of(notes),
        readiness=readiness_of(notes),
        answer=outcome_of(notes),
        agent=agent,
    )


def _other_age(agent: Agent) -> str:
    """An agent that would refuse every order, and whose answers nobody here could read."""
    newer = agent.protocol > PROTOCOL
    help_ = "upgrade shiplift in the cluster first" if newer else "install the shiplift-agent of this release"
    return f"agent {agent.version} speaks protocol {agent.protocol}, and the operator {PROTOCOL}: {help_}"


def _place(row: Custom) -> tuple[str, Place]:
    machine = cast("Machine", row.object)
    return machine.status.node or "", (machine.spec.pool, bool(row.deleting))


def has_ours(row: Node | None) -> bool:
    """Whether a node carries a cordon or an order of a rollout, or the mark of one that is over."""
    if row is None:
        return False
    lifted = QUARANTINED_BY in row.annotations and not row.unschedulable
    return lifted or CORDONED_BY in row.annotations or CHANGES_ALLOWED in row.annotations


def only_beats(old: Node, new: Node) -> bool:
    """Whether nothing differs that decides anything, but for the heartbeat of the agent."""
    if old.annotations == new.annotations:
        return old.same_as(new)
    return _still(old).same_as(_still(new))


def _still(row: Node) -> Node:
    kept = Labels((key, value) for key, value in row.annotations.items() if key != AGENT)
    return structs.replace(row, annotations=kept)
