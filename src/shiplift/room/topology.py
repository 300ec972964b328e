"""What other pods do to where a pod may go: affinity, anti-affinity in both directions, and spread.

Counts of pods by topology domain are made when a rule first needs them, and then follow every move that is
put on the `Board`; so what a rule says is always about the cluster with all moves so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import msgspec

from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.pods import Pod, PodTerm, Spread
from shiplift.facts.selectors import Requirement, Selector
from shiplift.room.node_room import Cause, Demand
from shiplift.room.occupancy import Domains, Peers, Room, guard_owner


class Picks(msgspec.Struct, frozen=True):
    """The pods that all of the terms are about."""

    namespace: str
    """Of the pod whose terms they are."""
    terms: tuple[PodTerm, ...]

    def match(self, namespace: str, labels: Labels, spaces: Mapping[str, Labels]) -> bool:
        return all(self._matches(term, namespace, labels, spaces) for term in self.terms)

    @property
    def only_in(self) -> str:
        """The one namespace that they can be in, where that is plain."""
        return next((self.namespace for term in self.terms if guard_owner("own", term)), "")

    def _matches(self, term: PodTerm, namespace: str, labels: Labels, spaces: Mapping[str, Labels]) -> bool:
        if term.selector is None:
            return False
        if guard_owner("own", term):
            covers = namespace == self.namespace
        else:
            chosen = term.namespace_selector
            covers = namespace in term.namespaces or (
                chosen is not None and chosen.matches(spaces.get(namespace, NO_LABELS))
            )
        return covers and term.selector.matches(labels)


class DomainCounts:
    """How many pods count in each domain."""

    __slots__ = ("_domain", "_keeps", "counts")

    def __init__(self, domain: Callable[[str], str | None], known: Mapping[str, int] | None = None) -> None:
        self._domain = domain
        self._keeps = known is not None
        """Whether a domain without pods is one still."""
        self.counts = dict(known or {})

    def add(self, node: str, number: int) -> None:
        value = self._domain(node)
        if value is None:
            return
        total = self.counts.get(value, 0) + number
        if total or self._keeps:
            self.counts[value] = total
        else:
            del self.counts[value]


class Rule(Protocol):
    """What one demand says of a domain."""

    key: str
    cause: Cause

    def begin(self) -> None:
        """Look at the counts, before any domain is asked about."""

    def allows(self, value: str | None) -> bool: ...


class Apart:
    """No pod that it, or that pods there, will not be together with."""

    cause = Cause.ANTI_AFFINITY

    def __init__(self, key: str, tally: DomainCounts) -> None:
        self.key = key
        self._counts = tally.counts

    def begin(self) -> None:
        pass

    def allows(self, value: str | None) -> bool:
        return value not in self._counts


class Together:
    """A pod that it wants to be with; the first of a kind that wants to be with itself may go anywhere."""

    cause = Cause.AFFINITY

    def __init__(
        self, key: str, tally: DomainCounts, *, of_all: list[DomainCounts], picks_itself: bool
    ) -> None:
        self.key = key
        self._counts = tally.counts
        self._all = of_all
        self._picks_itself = picks_itself
        self._first = False

    def begin(self) -> None:
        self._first = self._picks_itself and not any(tally.counts for tally in self._all)

    def allows(self, value: str | None) -> bool:
        return value is not None and (self._first or value in self._counts)


class Even:
    """Not more than so many above the domain that has least."""

    cause = Cause.SPREAD

    def __init__(self, spread: Spread, tally: DomainCounts, *, picks_itself: bool) -> None:
        self.key = spread.topology_key
        self._counts = tally.counts
        self._least_domains = spread.min_domains
        self._above = spread.max_skew - int(picks_itself)
        self._most = 0

    def begin(self) -> None:
        enough = len(self._counts) >= self._least_domains
        self._most = self._above + (min(self._counts.values(), default=0) if enough else 0)

    def allows(self, value: str | None) -> bool:
        return value is not None and self._counts.get(value, 0) <= self._most


class _Move(msgspec.Struct, frozen=True):
    pod: Pod
    node: str
    number: int
    ending: bool
    """It was on its way out already, so that spread does not see it."""


class _Counted(msgspec.Struct, frozen=True):
    picks: Picks
    tally: DomainCounts
    with_ending: bool


class Board:
    """The moves made so far, and every count that has been asked for, kept true to them."""

    def __init__(self, room: Room) -> None:
        self.edition = 0
        """Grows when pods come to have a demand that no pod had before: rules are no longer complete."""
        self._room = room
        self._moves: dict[str, list[_Move]] = {}
        self._counted: dict[object, _Counted] = {}
        self._watched: dict[str, list[_Counted]] = {}
        """By namespace; those that can be about several are under none."""
        self._watching: dict[tuple[str, Labels], list[_Counted]] = {}
        self._guards: dict[tuple[str, PodTerm], DomainCounts] = {}
        self._new_guards: dict[str, dict[PodTerm, None]] = {}

    def leave(self, pod: Pod, node: str) -> None:
        self._shift(_Move(pod, node, -1, bool(pod.deleting)))

    def stay(self, pod: Pod, node: str) -> None:
        """It does not leave after all."""
        self._shift(_Move(pod, node, 1, bool(pod.deleting)))

    def arrive(self, pod: Pod, node: str) -> None:
        self._shift(_Move(pod, node, 1, ending=False))

    def rules(self, pod: Pod, demand: Demand) -> list[Rule]:
        """Everything that topology says about where this pod may go."""
        return [*self._even(pod, demand), *self._apart(pod), *self._guarded(pod), *self._together(pod)]

    def _apart(self, pod: Pod) -> Iterator[Rule]:
        for term in pod.spec.anti_affinity:
            yield Apart(term.topology_key, self._count(Picks(pod.namespace, (term,)), term.topology_key))

    def _together(self, pod: Pod) -> list[Rule]:
        terms = pod.spec.affinity
        if not terms:
            return []
        picks = Picks(pod.namespace, terms)
        picks_itself = picks.match(pod.namespace, pod.labels, self._room.occupancy.spaces)
        tallies = [self._count(picks, term.topology_key) for term in terms]
        return [
            Together(term.topology_key, tally, of_all=tallies, picks_itself=picks_itself)
            for term, tally in zip(terms, tallies, strict=True)
        ]

    def _even(self, pod: Pod, demand: Demand) -> Iterator[Rule]:
        hard = [spread for spread in pod.spec.spread if spread.hard]
        keys = tuple(sorted({spread.topology_key for spread in hard}))
        for spread in hard:
            selector = _with_label_keys(spread, pod.labels)
            domains = self._room.domains(demand, spread, keys)
            tally = self._count_spread(pod.namespace, selector, spread.topology_key, domains)
            yield Even(spread, tally, picks_itself=selector is not None and selector.matches(pod.labels))

    def _guarded(self, pod: Pod) -> Iterator[Rule]:
        """Pods that are there already, and do not want this one near."""
        spaces = self._room.occupancy.spaces
        for owner in (pod.namespace, ""):
            terms = {**self._room.occupancy.guards.get(owner, {}), **self._new_guards.get(owner, {})}
            for term in terms:
                if Picks(owner, (term,)).match(pod.namespace, pod.labels, spaces):
                    yield Apart(term.topology_key, self._guard(owner, term))

    def _guard(self, owner: str, term: PodTerm) -> DomainCounts:
        tally = self._guards.get((owner, term))
        if tally is None:
            tally = self._guards[owner, term] = DomainCounts(self._room.value(term.topology_key))
            for node, number in self._room.occupancy.guards.get(owner, {}).get(term, {}).items():
                tally.add(node, number)
            for move in self._moves_in(owner):
                if term in move.pod.spec.anti_affinity and guard_owner(move.pod.namespace, term) == owner:
                    tally.add(move.node, move.number)
        return tally

    def _count(self, picks: Picks, key: str) -> DomainCounts:
        found = self._counted.get((picks, key))
        if found is None:
            found = _Counted(picks, DomainCounts(self._room.value(key)), with_ending=True)
            self._begin_count((picks, key), found)
        return found.tally

    def _count_spread(
        self, namespace: str, selector: Selector | None, key: str, domains: Domains
    ) -> DomainCounts:
        """A selector that picks every pod counts none: so the scheduler has it."""
        picky = selector if selector is not None and (selector.labels or selector.expressions) else None
        picks = Picks(namespace, (PodTerm(picky, key),))
        identity = (picks, domains)
        found = self._counted.get(identity)
        if found is None:
            found = _Counted(picks, DomainCounts(domains.by_node.get, domains.none), with_ending=False)
            self._begin_count(identity, found)
        return found.tally

    def _begin_count(self, identity: object, counted: _Counted) -> None:
        self._counted[identity] = counted
        self._watched.setdefault(counted.picks.only_in, []).append(counted)
        self._watching.clear()
        occupancy = self._room.occupancy
        self._count_peers(occupancy.peers, counted)
        if counted.with_ending:
            self._count_peers(occupancy.ending, counted)
        for move in self._moves_in(counted.picks.only_in):
            if counted.picks.match(move.pod.namespace, move.pod.labels, occupancy.spaces):
                _apply(counted, move)

    def _count_peers(self, peers: Peers, counted: _Counted) -> None:
        spaces = self._room.occupancy.spaces
        only = counted.picks.only_in
        for namespace in (only,) if only else peers:
            for labels, by_node in peers.get(namespace, {}).items():
                if counted.picks.match(namespace, labels, spaces):
                    for node, number in by_node.items():
                        counted.tally.add(node, number)

    def _moves_in(self, namespace: str) -> Iterator[_Move]:
        """In one namespace, or in all."""
        for one in (namespace,) if namespace else self._moves:
            yield from self._moves.get(one, ())

    def _shift(self, move: _Move) -> None:
        pod = move.pod
        self._moves.setdefault(pod.namespace, []).append(move)
        if self._counted:
            for counted in self._watchers(pod):
                _apply(counted, move)
        for term in pod.spec.anti_affinity:
            self._shift_guard(guard_owner(pod.namespace, term), term, move)

    def _shift_guard(self, owner: str, term: PodTerm, move: _Move) -> None:
        tally = self._guards.get((owner, term))
        if tally is not None:
            tally.add(move.node, move.number)
        elif term not in self._room.occupancy.guards.get(owner, {}):
            known = self._new_guards.setdefault(owner, {})
            if term not in known:
                known[term] = None
                self.edition += 1

    def _watchers(self, pod: Pod) -> list[_Counted]:
        key = (pod.namespace, pod.labels)
        found = self._watching.get(key)
        if found is None:
            spaces = self._room.occupancy.spaces
            near = (*self._watched.get(pod.namespace, ()), *self._watched.get("", ()))
            found = self._watching[key] = [one for one in near if one.picks.match(*key, spaces)]
        return found


def _apply(counted: _Counted, move: _Move) -> None:
    if counted.with_ending or not move.ending:
        counted.tally.add(move.node, move.number)


def _with_label_keys(spread: Spread, labels: Labels) -> Selector | None:
    """Only pods with the same values of these labels count, where the pod has them."""
    if spread.selector is None:
        return None
    same = tuple(Requirement(key, "In", (labels[key],)) for key in spread.match_label_keys if key in labels)
    return Selector(spread.selector.labels, spread.selector.expressions + same)
