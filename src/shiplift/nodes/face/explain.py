"""`shiplift explain node/x` and `rollout/x`: what it waits for, what would unblock it. Nothing is written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rich.console import RenderableType

from shiplift.face.parts import ExplainPart, FaceError, Question, Reader, ReadRefusedError
from shiplift.facts import kinds
from shiplift.facts.nodes import Node
from shiplift.kube.watch import Watch
from shiplift.nodes.face import explanation_layout, rollouts_layout
from shiplift.nodes.face.explanation import Explanation, explanation
from shiplift.nodes.face.others import ExplainedRollout, others
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.model import Member
from shiplift.nodes.names import ROLLOUT_WORDS
from shiplift.nodes.observe.members import Members

WORDS = frozenset({"no", "node", "nodes"})


def explained(reader: Reader, question: Question, now: int) -> Explanation | ExplainedRollout:
    """All about the node or the rollout that is meant."""
    if question.kind in ROLLOUT_WORDS:
        return _rollout(reader, question.name, now)
    rollouts = sorted(reader.objects(kinds.NODE_ROLLOUT), key=lambda one: one.metadata.name)
    members = _members(reader)
    if question.name not in members:
        hint = _may_be_meant("node", question.name, members) or "`kubectl get nodes` lists them"
        raise FaceError(f"there is no node {question.name}", hint)
    return explanation(members[question.name], rollouts, now)


def _members(reader: Reader) -> dict[str, Member]:
    found = reader.collected([Watch(kinds.NODE), Watch(kinds.MACHINE)])
    return Members().look(found.all(Node), found.customs(kinds.MACHINE))


def _rollout(reader: Reader, name: str, now: int) -> ExplainedRollout:
    """One rollout, as `shiplift status` shows it, with all of its nodes; without those to which nothing is
    done where nodes may not be read."""
    found = {one.metadata.name: one for one in reader.objects(kinds.NODE_ROLLOUT)}
    view = rollouts_view([found[name]], now, None) if name in found else None
    if view is None:
        hint = _may_be_meant("rollout", name, found) or "`kubectl get noderollouts` lists them"
        raise FaceError(f"there is no NodeRollout {name}", hint)
    try:
        return ExplainedRollout(view, others(found[name], _members(reader).values()))
    except ReadRefusedError:
        return ExplainedRollout(view)


def _may_be_meant(kind: str, name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), 1)
    return f"did you mean {kind}/{close[0]}?" if close else ""


def picture(told: Explanation | ExplainedRollout) -> RenderableType:
    if isinstance(told, ExplainedRollout):
        return rollouts_layout.explained(told)
    return explanation_layout.explanation(told)


EXPLAIN = ExplainPart[Explanation | ExplainedRollout](
    words=WORDS | ROLLOUT_WORDS,
    forms=("node/NAME", "rollout/NAME"),
    subject="node or rollout",
    explained=explained,
    picture=picture,
)
