"""`shiplift undo`, once called `release --all`: all that the layers have changed in a cluster is taken back.

It needs no operator, may be said twice, and leaves workloads where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.confirming import Yes, confirm
from shiplift.cli.layers import Layers, split
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from collections.abc import Collection

    from shiplift.facts.kinds import Kind
    from shiplift.kube.client import Client
    from shiplift.kube.part import LayerPart

app = App(name="undo", help="Undo all that was changed in a cluster, even without the operator.")
_QUESTION = (
    "abort what runs, and undo all that shiplift has changed in this cluster? workloads stay where they are,"
    " nodes keep what they run"
)
release_app = App(name="release", help="The old name of undo, with --all.")


@app.default
def undo(
    *, layers: Layers = (), yes: Yes = False, kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """Undo all that was changed in a cluster, even without the operator.

    What a layer has put into the cluster goes, what it has changed is given back, workloads stay where they
    are. First each layer sees to it that an operator that comes back does not begin again.
    """
    from shiplift.operator.layers import chosen, faces

    named, changes, stays = split(layers), 0, 0
    undoing = {name: face.undo_part() for name, face in faces(named).items()}
    with access.client_of(kubeconfig, context) as client:
        installed = _installed(client, chosen(named))
        if not yes:
            confirm(
                _QUESTION, "shiplift undo --yes", CommandError("nothing is undone", "only y or yes undoes")
            )
        for part in installed:
            if undo_layer := undoing[part.name]:
                with access.followed(client.credentials, part.watches, part.undone_without) as store:
                    done = undo_layer(client, store, say)
                    changes, stays = changes + done.changes, stays + done.stays
    say(outcome(changes, stays))


def outcome(changes: int, stays: int) -> str:
    """What came of it, in a line."""
    made = "done: 1 change" if changes == 1 else f"done: {changes:,} changes"
    if not stays:
        return made if changes else "nothing of ours was left to undo"
    done = made if changes else "nothing more to undo"
    what = "1 thing of ours stays" if stays == 1 else f"{stays:,} things of ours stay"
    return f"{done}; {what} on purpose, named above"


@release_app.default
def release(
    *,
    every: Annotated[
        bool, Parameter(name="--all", negative="", show_default=False, help="Needed: it is all or nothing.")
    ] = False,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """The old name of undo, with --all."""
    if not every:
        raise CommandError(
            "release undoes everything or nothing",
            "shiplift undo aborts the migration, removes our PodDisruptionBudgets, placements, "
            "labels and taints, and gives yours back as they were",
        )
    undo(yes=yes, kubeconfig=kubeconfig, context=context)


def _installed(client: Client, parts: tuple[LayerPart, ...]) -> list[LayerPart]:
    """The layers whose own kinds this cluster knows. One that it knows none of was never installed and has
    nothing to undo; an error says what to do where only some of the kinds that a layer needs are known, or
    none of any."""
    needed = {
        part.name: [one for one in part.custom_kinds if one not in part.undone_without] for part in parts
    }
    unknown = {
        name: [kind for kind in those if not access.is_known(client, kind)] for name, those in needed.items()
    }
    installed = [part for part in parts if _knows_own(part, needed[part.name], unknown[part.name])]
    for part in installed:
        if unknown[part.name]:
            raise access.UnknownKindError(unknown[part.name][0])
    missing = dict.fromkeys(kind for part in parts for kind in unknown[part.name][:1])
    if not installed and missing:
        raise access.UnknownKindError(*missing, hint=access.WRONG_CLUSTER)
    return installed


def _knows_own(part: LayerPart, needed: Collection[Kind], unknown: Collection[Kind]) -> bool:
    """Whether any kind of the layer itself is known, of those that it needs."""
    return any(kind in needed and kind not in unknown for kind in part.own_kinds)
