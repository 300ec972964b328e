"""What a drain tells: a row a pod before it begins, a line a change while it runs. Pure.

A change is told once. A pod that is kept is told again now and then, with how long it has waited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from shiplift.drain.model import IN_TURN, Judgement, Reason, Wait, Why, full_name
from shiplift.drain.plan import Plan, late_words
from shiplift.facts.pods import Pod

REMIND = 30
"""Seconds between two lines about a pod that still waits for the same."""
MOST_VOLUMES = 5
MUST_NOT, NEVER = "must not go", "never goes"
IN_THE_WAY = (MUST_NOT, NEVER)
"""Of what becomes of pods: what keeps a drain from beginning."""


class Row(NamedTuple):
    """What would become of a pod."""

    pod: str
    what: str
    budget: str = ""
    why: str = ""


def rows(found: Plan, helps: Mapping[Reason, str]) -> list[Row]:
    """One for each pod: those in the way first, then those that go, now and later, then those that stay.
    `helps` has the words that let a pod go which must not."""
    cannot = [Row(full_name(one.pod), MUST_NOT, why=_with_help(one, helps)) for one in found.cannot]
    never = [_kept(one, NEVER) for one in found.for_ever]
    kept = [one for one in found.waits if not one.for_ever]
    waits = [_kept(one, "waits") for one in kept if one.why not in IN_TURN]
    later = [_kept(one, "goes later") for one in kept if one.why in IN_TURN]
    goes = [Row(full_name(one.pod), "goes", one.budget) for one in found.evictions]
    ends = [Row(full_name(pod), "ends already") for pod in found.going]
    stays = [Row(full_name(one.pod), "stays", why=one.words) for one in found.left]
    return [*cannot, *never, *waits, *goes, *later, *ends, *stays]


def _with_help(one: Judgement, helps: Mapping[Reason, str]) -> str:
    return "; ".join(_helped(reason.value, helps.get(reason, "")) for reason in one.reasons)


def _helped(text: str, help_: str) -> str:
    return f"{text} ({help_})" if help_ else text


def _kept(one: Wait, what: str) -> Row:
    return Row(full_name(one.pod), what, " and ".join(one.budgets), _helped(one.message, one.unblocks))


def summary(node: str, found: Plan) -> str:
    """One line for the whole."""
    go, waits = len(found.evictions) + len(found.going), len(found.waits) - len(found.for_ever)
    later = sum(one.why in IN_TURN for one in found.waits)
    told = [
        f"{counted(go + later)} would go",
        *([f"{waits - later} would wait"] if waits > later else []),
        *([f"{len(found.for_ever)} can never go"] if found.for_ever else []),
        *([f"{len(found.cannot)} must not go"] if found.cannot else []),
        f"{len(found.left)} would stay",
    ]
    return f"{node}: {', '.join(told)}"


def counted(number: int, noun: str = "pod") -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def waiting(wait: Wait) -> str:
    """Why a pod waits, and what would let it go."""
    return f"{full_name(wait.pod)} waits: {_helped(wait.message, wait.unblocks)}"


class Standing(NamedTuple):
    """A pod that has to go, and how long it has been where it is."""

    pod: str
    what: str
    seconds: int
    why: str = ""


class _Told(NamedTuple):
    """What was said of a pod that waits."""

    what: tuple[Why, tuple[str, ...], str]
    since: float
    said: float


class Teller:
    """Tells a drain line by line; `lines` is given one plan after the other, and the time."""

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        """Pods that have to go, by uid: their names."""
        self._since: dict[tuple[str, str], float] = {}
        """By uid and what is done with the pod: since when."""
        self._going: set[str] = set()
        self._waits: dict[str, _Told] = {}
        self._volumes: tuple[str, ...] = ()
        self.gone = 0

    def lines(self, found: Plan, now: float, *, evicts: bool = True) -> Iterator[str]:
        """What has changed; `evicts`: whether what the plan evicts is evicted now."""
        there = {pod.uid: full_name(pod) for pod in _to_go(found)}
        yield from self._left(there)
        yield from self._ends((*(one.pod for one in found.evictions if evicts), *found.going), now)
        yield from self._kept(found.waits, now)
        yield from self._attached(found)

    def standing(self, found: Plan, now: float) -> list[Standing]:
        """What is left, those that are kept first."""
        waits = [(one.pod, "waits", _helped(one.message, one.unblocks)) for one in found.waits]
        going = [(pod, "ends", late_words(pod, int(now))) for pod in found.going]
        rows = [*waits, *going]
        self._since = {key: self._since.get(key, now) for key in ((pod.uid, what) for pod, what, _ in rows)}
        return [
            Standing(full_name(pod), what, int(now - self._since[pod.uid, what]), why)
            for pod, what, why in rows
        ]

    def _left(self, there: Mapping[str, str]) -> Iterator[str]:
        gone = [name for uid, name in self._there.items() if uid not in there]
        total = self.gone + len(gone) + len(there)
        for name in gone:
            self.gone += 1
            yield f"{name} is gone ({self.gone} of {total})"
        self._there = dict(there)

    def _ends(self, going: Iterable[Pod], now: float) -> Iterator[str]:
        for pod in going:
            if pod.uid not in self._going:
                self._going.add(pod.uid)
                yield f"{full_name(pod)} {'ends' if pod.deleting else 'is being evicted'}"
            if late := late_words(pod, int(now)):
                yield from self._again(pod, (Why.REFUSED, (), ""), late, now)

    def _kept(self, waits: Iterable[Wait], now: float) -> Iterator[str]:
        for wait in waits:
            if wait.why not in IN_TURN:
                text = _helped(wait.message, wait.unblocks)
                yield from self._again(wait.pod, (wait.why, wait.budgets, text), text, now)

    def _again(
        self, pod: Pod, what: tuple[Why, tuple[str, ...], str], text: str, now: float
    ) -> Iterator[str]:
        """Once, and then now and then for as long as it is the same."""
        told = self._waits.get(pod.uid)
        if told is None or told.what[:2] != what[:2]:
            self._waits[pod.uid] = _Told(what, now, now)
            yield f"{full_name(pod)} waits: {text}"
        elif told.what != what or now - told.said >= REMIND:
            self._waits[pod.uid] = told._replace(what=what, said=now)
            waited = int(now - told.since)
            yield f"{full_name(pod)} {f'has waited for {waited} s' if waited else 'waits'}: {text}"

    def _attached(self, found: Plan) -> Iterator[str]:
        volumes = () if found.to_go else found.volumes
        if volumes and volumes != self._volumes:
            yield f"waits for {counted(len(volumes), 'volume')} to be detached: {_some(volumes)}"
        self._volumes = volumes


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST_VOLUMES} more" if len(names) > MOST_VOLUMES else ""
    return f"{', '.join(names[:MOST_VOLUMES])}{more}"


def _to_go(found: Plan) -> Iterator[Pod]:
    yield from (one.pod for one in found.evictions)
    yield from (one.pod for one in found.waits)
    yield from found.going
    yield from (one.pod for one in found.cannot)


def left(found: Plan) -> str:
    """What a drain that did not come to its end still waited for."""
    kept = [one for one in found.waits if one.why not in IN_TURN]
    if kept:
        more = f", and {counted(len(kept) - 1, 'more pod')}" if len(kept) > 1 else ""
        return f"{waiting(kept[0])}{more}"
    if found.cannot:
        return f"{full_name(found.cannot[0].pod)} must not go, as {found.cannot[0].words}"
    if found.to_go:
        return f"{counted(found.to_go)} had not ended"
    return f"{counted(len(found.volumes), 'volume')} still attached: {_some(found.volumes)}"
