"""`shiplift explain KIND/NAME`: what the layers have to say of one thing; no operator needed.

Every layer that understands the word is asked. What one of them does not find another may; only where none
does is it an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shiplift.face.parts import ExplainPart, Question, Reader

app = App(name="explain", help="Say what a workload or a node waits for, and what would help it.")


@app.default
def explain(
    what: str,
    /,
    *,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"], show_default=False)] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say what a workload or a node waits for, and what would help it.

    Parameters
    ----------
    what
        KIND/NAME, as deploy/web, pod/web-1 or node/worker-1; an unknown KIND is answered with all KINDs.
    namespace
        Where it is. Default: the kubeconfig's, or the only one that has it.
    """
    from rich.console import Group
    from rich.text import Text

    from shiplift.operator.layers import faces

    parts = {name: part for name, face in faces().items() if (part := face.explain_part())}
    kind, name = read_name(what, parts.values())
    asked = {layer: part for layer, part in parts.items() if kind in part.words}
    with access.client_of(kubeconfig, context) as client:
        told = explained(access.Reader(client), _question(kind, name, namespace), asked)
    apart = [line for picture in told for line in (Text(), picture)]
    access.show(access.terminal(), Group(*apart[1:]))


def read_name(text: str, parts: Iterable[ExplainPart[Any]]) -> tuple[str, str]:
    """The kind, in lower case, and the name that `deploy/web` or `web` mean; no kind where none was given."""
    asked = list(parts)
    forms = " or ".join(", ".join(form for part in asked for form in part.forms).rsplit(", ", 1))
    kind, slash, name = text.rpartition("/")
    understood = any((kind.lower() or not slash) and kind.lower() in part.words for part in asked)
    if not understood:
        subjects = ", nor of ".join(part.subject for part in asked)
        raise CommandError(f"{kind!r} is no kind of {subjects}", f"{forms}, and -n NAMESPACE")
    if not name:
        raise CommandError(f"{text!r} names nothing", forms)
    return kind.lower(), name


def explained(
    reader: Reader, question: Question, asked: Mapping[str, ExplainPart[Any]]
) -> list[RenderableType]:
    """The pictures of all that is known of it, layer by layer."""
    from shiplift.face.parts import FaceError

    told: list[RenderableType] = []
    refused: list[FaceError | access.UnknownKindError] = []
    for part in asked.values():
        try:
            told.append(part.picture(part.explained(reader, question, int(time.time()))))
        except (FaceError, access.UnknownKindError) as error:
            refused.append(error)
    if refused and not told:
        raise refused[0]
    return told


def _question(kind: str, name: str, namespace: str) -> Question:
    from shiplift.face.parts import Question

    return Question(kind, name, namespace)
