"""`shiplift crds`: the CustomResourceDefinitions on standard output, ready for `kubectl apply -f -`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
import yaml
from cyclopts import App, Parameter, Token

from shiplift.api import TYPES, crd
from shiplift.cli.layers import Layers, split
from shiplift.cli.output import Format
from shiplift.facts.kinds import Kind

app = App(name="crds", help="Print the CustomResourceDefinitions.")


def kinds_called(_: Any, tokens: Sequence[Token]) -> tuple[Kind, ...]:
    """The kinds with these names; singular, plural and short ones are all understood, as kubectl does."""
    return tuple(_kind_called(token.value) for token in tokens)


def _kind_called(name: str) -> Kind:
    for kind, resource in TYPES.items():
        if name.lower() in (kind.kind.lower(), kind.plural, *resource.SHORT_NAMES):
            return kind
    known = ", ".join(kind.kind for kind in TYPES)
    raise ValueError(f"there is no kind {name!r}\nhint: one of {known}")


@app.default
def crds(
    *,
    kind: Annotated[
        tuple[Kind, ...],
        Parameter(converter=kinds_called, n_tokens=1, negative=(), accepts_keys=False, show_default=False),
    ] = (),
    layers: Annotated[
        Layers, Parameter(help="Only the kinds of these layers, as a,b, besides those of --kind.")
    ] = (),
    output: Annotated[Format, Parameter(name=["--output", "-o"])] = Format.YAML,
) -> None:
    """Print the CustomResourceDefinitions.

    Parameters
    ----------
    kind
        Only this kind; may be given several times.
    output
        YAML documents, or one JSON List.
    """
    named = {*kind, *_kinds_of(split(layers))} or set(TYPES)
    sys.stdout.write(render([crd.manifest(known) for known in TYPES if known in named], output))


def _kinds_of(layers: list[str]) -> Iterable[Kind]:
    """The kinds that these layers work with; none where none is named."""
    if not layers:
        return ()
    from shiplift.operator.layers import chosen  # all that runs a layer

    return (kind for part in chosen(layers) for kind in part.custom_kinds)


def render(manifests: list[dict[str, Any]], output: Format) -> str:
    """The manifests as text; the same manifests give the same bytes."""
    if output is Format.YAML:
        return yaml.safe_dump_all(manifests, explicit_start=True, sort_keys=False, width=110)
    listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
    return msgspec.json.format(msgspec.json.encode(listed), indent=2).decode() + "\n"
