"""What to tell whom, and whose alerts to silence. Pure; nothing of it holds up an upgrade.

A silence is held like a lease: for some minutes, renewed while the upgrade runs. Where nobody renews it, it
goes by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from shiplift.api.upgrade import Notify, NotifyType, UpgradeConfig
from shiplift.engine import retries
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.step import Step
from shiplift.notify.milestones import event, milestones
from shiplift.notify.model import (
    LASTS,
    RENEWED,
    Address,
    Addressed,
    Deliver,
    EndSilence,
    Forget,
    HoldSilence,
    Notifying,
    Put,
    Silence,
    View,
)
from shiplift.outside.letters import Letter

_SOON = timedelta(seconds=1)


def decide(view: View, now: datetime) -> Notifying:
    """What follows from the view."""
    wanted = _silences(view)
    steps = (*_told(view, now), *_silenced(view, wanted, now))
    about = view.upgrade.metadata.uid if view.upgrade is not None else ""
    decision = Notifying(
        steps, _look_again(view, wanted, now), troubles=tuple(_troubles(view, steps)), about=about
    )
    return retries.only_due(decision, lambda step: retries.wait(view.outcomes, step, now))


def _troubles(view: View, steps: Iterable[Step]) -> Iterator[str]:
    """Whoever cannot be told, or whose alerts cannot be silenced, and why."""
    if view.trouble:
        yield view.trouble
    for step in steps:
        last = view.outcomes.of(step)
        if last is None or last.ok:
            continue
        match step:
            case Deliver(letter=letter):
                yield f"{letter.receiver} cannot be told: {last.message}"
            case HoldSilence(silence=silence):
                yield f"alerts of {silence.name} cannot be silenced: {last.message}"
            case EndSilence(silence=silence):
                yield f"the silence of {silence.name} cannot be ended: {last.message}"
            case _ if retries.has_failed(last):
                yield f"what is to be told cannot be kept: {last.message}"
            case _:
                pass


def _receivers(upgrade: UpgradeConfig | None, kind: NotifyType) -> dict[str, Notify]:
    return {one.name: one for one in upgrade.spec.notify if one.type is kind} if upgrade is not None else {}


def _told(view: View, now: datetime) -> Iterator[Step]:
    """New letters, and those that are on their way, to where their receivers are now; of an UpgradeConfig
    that is gone all that were put in."""
    box = view.box
    if box is None or view.unsure:
        return
    named = _receivers(view.upgrade, NotifyType.WEBHOOK)
    letters = tuple(
        letter
        for one in named.values()
        for letter in _letters(view.upgrade, one, box.last.get(one.name, ""), now)
    )
    if letters:
        yield Put(letters)
    for head in box.heads:
        now_at = named.get(head.receiver)
        if now_at is not None:
            yield Deliver(head, Address(now_at.url, now_at.token))
        else:
            yield Deliver(head) if view.upgrade is None else Forget(head)


def _letters(upgrade: UpgradeConfig | None, receiver: Notify, last: str, now: datetime) -> Iterator[Letter]:
    if upgrade is None:
        return
    for one in milestones(upgrade, last):
        body = Addressed(receiver.url, event(upgrade, one), receiver.token)
        yield Letter(one.id, receiver.name, now, msgspec.json.encode(body).decode())


def _silences(view: View) -> dict[str, Silence]:
    """Those that are to be held now, by their place."""
    upgrade = view.upgrade
    if upgrade is None or upgrade.status.target_version is None:
        return {}
    found = _receivers(upgrade, NotifyType.ALERTMANAGER)
    silences = (Silence.of(one, upgrade.metadata.uid) for one in found.values())
    return {one.place: one for one in silences}


def _silenced(view: View, wanted: Mapping[str, Silence], now: datetime) -> Iterator[Step]:
    if view.unsure:
        return
    for place, held in view.held.items():
        if wanted.get(place) != held.silence:
            yield EndSilence(held.silence)
    for place, silence in wanted.items():
        held = view.held.get(place)
        if held is None or (held.silence == silence and now >= held.at + RENEWED):
            yield HoldSilence(silence, now + LASTS)


def _look_again(view: View, wanted: Mapping[str, Silence], now: datetime) -> LookAgain:
    if view.unsure:
        return requeue(_SOON)
    due = [requeue(view.held[place].at + RENEWED - now) for place in wanted if place in view.held]
    return earliest(*due, await_change())
