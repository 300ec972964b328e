"""`shiplift explain apptype/x`: what an operator waits for, what would help. Nothing is written."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rich.console import RenderableType

from shiplift.api.operators import AppType, OperatorVersion
from shiplift.face.parts import ExplainPart, FaceError, Question, Reader
from shiplift.facts.kinds import APP_TYPE, OPERATOR_VERSION
from shiplift.operators.face import layout
from shiplift.operators.face.standing import Standing, standing

_APP_TYPES = frozenset({"apptype", "apptypes", "apt"})
_VERSIONS = frozenset({"operatorversion", "operatorversions", "opv"})


def explained(reader: Reader, question: Question, _now: int) -> Standing:
    """All about the AppType that is meant, or to which the version belongs."""
    versions: Sequence[OperatorVersion] = reader.objects(OPERATOR_VERSION)
    name, space = question.name, question.namespace
    if question.kind in _VERSIONS:
        named = [
            one for one in versions if one.metadata.name == name and space in ("", one.metadata.namespace)
        ]
        if not named:
            known = [one.metadata.name for one in versions]
            raise FaceError(f"there is no OperatorVersion {name}", _hint("operatorversion", name, known))
        name, space = named[0].spec.app_type, named[0].metadata.namespace
    app = _app(reader, name, space)
    own = [one for one in versions if one.metadata.namespace == app.metadata.namespace]
    return standing(app, own)


def _app(reader: Reader, name: str, space: str) -> AppType:
    every: Sequence[AppType] = reader.objects(APP_TYPE)
    named = [one for one in every if one.metadata.name == name and space in ("", one.metadata.namespace)]
    near = [one for one in named if one.metadata.namespace == reader.namespace]
    found = near if len(named) > 1 and near else named
    if len(found) == 1:
        return found[0]
    if found:
        spaces = ", ".join(sorted(one.metadata.namespace for one in found))
        raise FaceError(f"there are {len(found)} AppTypes {name}", f"choose by --namespace: {spaces}")
    raise FaceError(
        f"there is no AppType {name}", _hint("apptype", name, [one.metadata.name for one in every])
    )


def _hint(kind: str, name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean {kind}/{close[0]}?" if close else f"`kubectl get {kind}s -A` lists them"


def picture(told: Standing) -> RenderableType:
    return layout.standing(told)


EXPLAIN = ExplainPart[Standing](
    words=_APP_TYPES | _VERSIONS,
    forms=("apptype/NAME",),
    subject="AppType",
    explained=explained,
    picture=picture,
)
