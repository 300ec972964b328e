"""`shiplift explain quorumservice/x`: where its swap is, who runs what, what is waited for."""

from __future__ import annotations

import difflib

from shiplift.api.quorum import QuorumService
from shiplift.face.parts import ExplainPart, FaceError, Question, Reader
from shiplift.facts.kinds import QUORUM_SERVICE
from shiplift.quorum.face import services_layout
from shiplift.quorum.face.services import ServiceView, service_view

WORDS = frozenset({"qs", "quorumservice", "quorumservices"})


def explained(reader: Reader, question: Question, now: int) -> ServiceView:
    """The service that is meant: in the namespace that was named, else the reader's, else the only one."""
    found: list[QuorumService] = list(reader.objects(QUORUM_SERVICE))
    named = [one for one in found if one.metadata.name == question.name]
    for space in (question.namespace, *(() if question.namespace else (reader.namespace,))):
        if space and (there := [one for one in named if one.metadata.namespace == space]):
            return service_view(there[0], now)
    if question.namespace or not named:
        where = f" in namespace {question.namespace}" if question.namespace else ""
        raise FaceError(f"there is no QuorumService {question.name}{where}", _hint(question.name, found))
    if len(named) > 1:
        spaces = ", ".join(sorted(one.metadata.namespace for one in named))
        raise FaceError(f"QuorumService {question.name} is in {spaces}", "say which, by -n NAMESPACE")
    return service_view(named[0], now)


def _hint(name: str, found: list[QuorumService]) -> str:
    close = difflib.get_close_matches(name, [one.metadata.name for one in found], 1)
    return f"did you mean quorumservice/{close[0]}?" if close else "`kubectl get qs -A` lists them"


EXPLAIN = ExplainPart[ServiceView](
    words=WORDS,
    forms=("quorumservice/NAME",),
    subject="quorum service",
    explained=explained,
    picture=services_layout.service,
)
