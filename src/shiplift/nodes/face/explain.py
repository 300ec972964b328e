"""`shiplift explain node/x`: what a node waits for, and what would unblock it. Nothing is written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from shiplift.face.parts import ExplainPart, FaceError, Question, Reader
from shiplift.facts import kinds
from shiplift.facts.nodes import Node
from shiplift.kube.watch import Watch
from shiplift.nodes.face import explanation_layout
from shiplift.nodes.face.explanation import Explanation, explanation
from shiplift.nodes.observe.members import Members

WORDS = frozenset({"no", "node", "nodes"})


def explained(reader: Reader, question: Question, now: int) -> Explanation:
    """All about the node that is meant."""
    rollouts = sorted(reader.objects(kinds.NODE_ROLLOUT), key=lambda one: one.metadata.name)
    found = reader.collected([Watch(kinds.NODE), Watch(kinds.MACHINE)])
    members = Members().look(found.all(Node), found.customs(kinds.MACHINE))
    if question.name not in members:
        raise FaceError(f"there is no node {question.name}", _may_be_meant(question.name, members))
    return explanation(members[question.name], rollouts, now)


def _may_be_meant(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), 3)
    return f"is {' or '.join(close)} meant?" if close else "`kubectl get nodes` lists them"


EXPLAIN = ExplainPart[Explanation](
    words=WORDS,
    forms=("node/NAME",),
    subject="node",
    explained=explained,
    picture=explanation_layout.explanation,
)
