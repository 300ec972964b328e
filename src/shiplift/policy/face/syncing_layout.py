"""From the read model of policies to what a terminal shows."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType

from shiplift.face.layout import facts
from shiplift.face.wrapping import Sentence
from shiplift.policy.face.syncing import PolicyView


def policy(view: PolicyView, _most: int | None, lines: int | None = None) -> RenderableType:
    return facts(_about(view, None if lines is None else max(2, lines)))


def _about(view: PolicyView, most: int | None) -> Iterable[tuple[str, RenderableType]]:
    named = f"{view.id} from {view.provider}" if view.id else f"from {view.provider}"
    yield "Policy", Sentence(named)
    if view.queued:
        yield "Later", Sentence(f"{view.queued} waits for the end of the upgrade that runs", lines=most)
    if view.lost:
        yield "Lost", Sentence(view.lost, lines=most)
    if view.stalled:
        yield "Needs you", Sentence(view.stalled, lines=most)
