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
    from shiplift.kube.client import Client

app = App(name="explain", help="Say what a workload, node or rollout waits for, and what would help.")


@app.default
def explain(
    what: str,
    /,
    *,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"], show_default=False)] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say what a workload, node or rollout waits for, and what would help.

    Parameters
    ----------
    what
        KIND/NAME, as deploy/web, pod/web-1, node/worker-1 or rollout/next; an unknown KIND is answered with
        all KINDs.
    namespace
        Where it is. Default: the kubeconfig's, or the only one that has it.
    """
    from rich.console import Group
    from rich.text import Text

    from shiplift.face.parts import FaceError
    from shiplift.operator.layers import faces

    parts = {name: part for name, face in faces().items() if (part := face.explain_part())}
    kind, name = read_name(what, parts.values())
    asked = {layer: part for layer, part in parts.items() if kind in part.words}
    with access.client_of(kubeconfig, context) as client:
        try:
            told = explained(access.Reader(client), _question(kind, name, namespace), asked)
        except (access.UnknownKindError, FaceError) as error:
            raise with_kind(client, kind, name, error) from error
        away = _away(client)
    apart: list[RenderableType] = [Text(), away] if away else []
    apart += [line for picture in told for line in (Text(), picture)]
    access.show(access.terminal(), Group(*apart[1:]))


def _away(client: Client) -> RenderableType | None:
    """That no operator runs, where one did: what is told is then as old as that."""
    from rich.text import Text

    from shiplift.cli.hearing import Ear
    from shiplift.face.layout import duration

    heard = Ear(client).surely()
    silent = heard.silent(int(time.time())) if heard else None
    if silent is None:
        return None
    return Text(f"no operator has been heard of for {duration(silent)}; this is how it was", style="bold red")


def with_kind(client: Client, kind: str, name: str, error: Exception) -> Exception:
    """Whoever named no kind may have meant a node."""
    from shiplift.facts.kinds import NODE
    from shiplift.kube.errors import KubeError

    try:
        is_node = not kind and bool(client.get(NODE, name))
    except (KubeError, ValueError):
        is_node = False
    return CommandError(f"{name!r} names no kind", f"did you mean node/{name}?") if is_node else error


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
    """The pictures of all that is known of it and may be read, layer by layer."""
    from shiplift.face.parts import FaceError
    from shiplift.kube.errors import Forbidden

    told: list[RenderableType] = []
    refused: list[Exception] = []
    for part in asked.values():
        try:
            told.append(part.picture(part.explained(reader, question, int(time.time()))))
        except (FaceError, access.UnknownKindError, Forbidden) as error:
            refused.append(error)
    if refused and not told:
        raise refused[0]
    return told


def _question(kind: str, name: str, namespace: str) -> Question:
    from shiplift.face.parts import Question

    return Question(kind, name, namespace)
