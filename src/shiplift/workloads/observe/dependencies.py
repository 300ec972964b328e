"""Which workload waits for which: every declared dependency as an edge that says where it was written.

What is kept true: no text makes this raise; what cannot be followed is named in a `Problem` and spoils
nothing beside it; nothing waits for itself; two workloads have at most one edge in each direction, from the
strongest source (WorkloadOrder, then depends-on, then kapp, then sync-wave); the result depends on what was
declared, not on the order in which it is given; and one annotation leads to a bounded number of edges.

No tenant keeps another's workloads where they are: an order between two namespaces is only what the namespace
that waits says, by name, in a WorkloadOrder or with depends-on. Groups of kapp and waves of Argo CD are what
each member says of itself, whoever makes it, so they end with their namespace.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from shiplift.api.orders import WorkloadOrder
from shiplift.api.workloads import EdgeSource, WorkloadKind
from shiplift.engine.graph import Edge
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.workloads.identity import WorkloadId, referenced, workload_id

DEPENDS_ON = "config.kubernetes.io/depends-on"
CHANGE_GROUP = "kapp.k14s.io/change-group"
CHANGE_RULE = "kapp.k14s.io/change-rule"
KAPP_APP = "kapp.k14s.io/app"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
TRACKING_ID = "argocd.argoproj.io/tracking-id"
INSTANCE = "app.kubernetes.io/instance"

MOST_REFERENCES = 256
"""Of one depends-on annotation, or of all kapp annotations of one workload."""
MOST_BETWEEN_WAVES = 2000
"""Edges from one sync wave to the next."""

_ORDER = "WorkloadOrder "
_SOURCES = {
    _ORDER: EdgeSource.WORKLOAD_ORDER,
    f"annotation {DEPENDS_ON}": EdgeSource.DEPENDS_ON,
    f"annotation {CHANGE_RULE}": EdgeSource.KAPP,
    f"annotation {SYNC_WAVE}": EdgeSource.SYNC_WAVE,
}

_LONGEST_QUOTE = 100
_LONGEST_KAPP_TEXT = 1024
_MOST_NAMED = 3
_WHO_WAITS = "say an order between namespaces in a WorkloadOrder of the namespace that waits"

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_MOVED_KINDS = frozenset(kind.value for kind in WorkloadKind)
_APPS_KINDS = _MOVED_KINDS | {"DaemonSet", "ReplicaSet", "ControllerRevision"}
_REFERENCE = re.compile(rf"apps/namespaces/({_LABEL})/({'|'.join(sorted(_MOVED_KINDS))})/({_SUBDOMAIN})")
_GROUP = re.compile(rf"(?:{_SUBDOMAIN}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")
_RULE = re.compile(r"(upsert|delete) (before|after) (upserting|deleting) (\S+)")
_KAPP_KEYS = (CHANGE_GROUP, CHANGE_RULE)
_KAPP_STARTS = tuple(f"{key}." for key in _KAPP_KEYS)
_PLACEHOLDER = re.compile(r"\{[^{}]+\}")
_WAVE = re.compile(r"[+-]?[0-9]{1,18}")


class Declared(Struct, frozen=True):
    """A workload and what is written on it."""

    id: WorkloadId
    annotations: Labels
    labels: Labels


class Problem(Struct, frozen=True):
    """Something declared that cannot be followed, on `Deployment shop/web` or `WorkloadOrder shop/main`."""

    about: str
    source: EdgeSource
    message: str


class Dependencies(Struct, frozen=True):
    """Every dependency that could be read, and what could not."""

    edges: tuple[Edge[WorkloadId], ...]
    problems: tuple[Problem, ...]

    def problems_of(self, about: str) -> tuple[str, ...]:
        """What cannot be followed of what that object declares."""
        return tuple(one.message for one in self.problems if one.about == about)


def gather(declared: Iterable[Declared], orders: Iterable[Custom]) -> Dependencies:
    """All dependencies; the rows of `orders` hold a `WorkloadOrder` each."""
    workloads = sorted(declared, key=lambda one: one.id)
    found = _Found()
    for row in sorted(orders, key=lambda row: (row.namespace, row.name)):
        _read_order(found, row)
    for one in workloads:
        _read_depends_on(found, one)
    _read_kapp(found, workloads)
    _read_sync_waves(found, workloads)
    return Dependencies(tuple(found.edges.values()), tuple(found.problems))


def source_of(origin: str) -> EdgeSource:
    """Where an edge of that origin was declared."""
    for start, source in _SOURCES.items():
        if origin.startswith(start):
            return source
    raise ValueError(f"no dependency has the origin {origin!r}")


class _UnreadableError(ValueError):
    """Why some text, which the reason names, cannot be followed."""


class _Found:
    """Edges and problems so far. The strongest source is read first, so the first edge of a pair stays."""

    def __init__(self) -> None:
        self.edges: dict[tuple[WorkloadId, WorkloadId], Edge[WorkloadId]] = {}
        self.problems: list[Problem] = []

    def edge(self, dependent: WorkloadId, dependency: WorkloadId, origin: str, *, soft: bool = False) -> None:
        pair = (dependent, dependency)
        if pair not in self.edges:
            self.edges[pair] = Edge(dependent, dependency, origin, soft)

    def problem(self, about: object, source: EdgeSource, message: str) -> None:
        self.problems.append(Problem(str(about), source, message))


def _read_order(found: _Found, row: Custom) -> None:
    order: WorkloadOrder = row.object
    origin = f"{_ORDER}{row.namespace}/{row.name}"
    for workload in order.spec.workloads:
        dependent = referenced(workload, row.namespace)
        if dependent.namespace != row.namespace:
            found.problem(origin, EdgeSource.WORKLOAD_ORDER, _not_its_own(dependent))
            continue
        for other in workload.depends_on:
            dependency = referenced(other, row.namespace)
            if dependency == dependent:
                found.problem(origin, EdgeSource.WORKLOAD_ORDER, f"{dependent} cannot depend on itself")
            else:
                found.edge(dependent, dependency, origin)


def _not_its_own(workload: WorkloadId) -> str:
    """One tenant must not be able to keep another's workloads where they are."""
    return (
        f"what it says of {workload} does not count, it speaks for its own namespace only;"
        f" say it in a WorkloadOrder of namespace {workload.namespace}"
    )


def _read_depends_on(found: _Found, one: Declared) -> None:
    text = one.annotations.get(DEPENDS_ON)
    if text is None:
        return
    entries = text.split(",", MOST_REFERENCES)
    wrong: list[str] = []
    if len(entries) > MOST_REFERENCES:
        wrong.append(f"only the first {MOST_REFERENCES} references count, there are {text.count(',') + 1}")
    for entry in entries[:MOST_REFERENCES]:
        try:
            dependency = _reference(entry.strip(), one.id)
        except _UnreadableError as reason:
            wrong.append(str(reason))
        else:
            if dependency:
                found.edge(one.id, dependency, f"annotation {DEPENDS_ON}")
    if wrong:
        found.problem(one.id, EdgeSource.DEPENDS_ON, f"{DEPENDS_ON}: {_listed(wrong)}")


def _reference(text: str, dependent: WorkloadId) -> WorkloadId | None:
    """The workload that is meant; None for an object of a kind that is not moved."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        _check_other_reference(text)
        return None
    namespace, kind, name = match.groups()
    dependency = workload_id(kind, namespace, name)
    if dependency == dependent:
        raise _UnreadableError(f"{_quoted(text)} is the workload itself")
    return dependency


def _check_other_reference(text: str) -> None:
    fields = text.split("/", 5)
    namespaced = fields[1:2] == ["namespaces"]
    if len(fields) != (5 if namespaced else 3) or not fields[-2] or not fields[-1]:
        raise _UnreadableError(f"{_quoted(text)} is not <group>/namespaces/<namespace>/<kind>/<name>")
    group, kind = fields[0], fields[-2]
    if group == "apps" and kind not in _APPS_KINDS:
        raise _UnreadableError(f"{_quoted(text)} names a kind that group apps does not have")
    if kind in _MOVED_KINDS and group in ("apps", "extensions", ""):
        raise _UnreadableError(f"{_quoted(text)} is not apps/namespaces/<namespace>/{kind}/<name>")


class _Group(NamedTuple):
    """A change group of one kapp app, or of what has no such label, in one namespace."""

    app: str
    namespace: str
    name: str


class _Rule(NamedTuple):
    """`owner` goes before or after the members of a group."""

    owner: WorkloadId
    key: str
    before: bool
    group: _Group


def _read_kapp(found: _Found, workloads: list[Declared]) -> None:
    members: dict[_Group, dict[WorkloadId, None]] = {}
    rules: dict[WorkloadId, list[_Rule]] = {}
    for one in workloads:
        for key in _kapp_keys(found, one):
            try:
                if key.startswith(CHANGE_GROUP):
                    members.setdefault(_group(_expanded(one, key), one), {})[one.id] = None
                elif rule := _rule(one, key):
                    rules.setdefault(one.id, []).append(rule)
            except _UnreadableError as reason:
                found.problem(one.id, EdgeSource.KAPP, f"{key}: {reason}")
    spread = _spread(members)
    for own in rules.values():
        _follow(found, own, members)
        _tell_of_others(found, own, spread)


def _spread(groups: Iterable[_Group]) -> dict[tuple[str, str], list[str]]:
    """The namespaces of each group of a kapp app."""
    found: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        if group.app:
            found.setdefault((group.app, group.name), []).append(group.namespace)
    return found


def _tell_of_others(found: _Found, rules: list[_Rule], spread: dict[tuple[str, str], list[str]]) -> None:
    for rule in rules:
        group = rule.group
        if others := [one for one in spread.get((group.app, group.name), ()) if one != group.namespace]:
            message = (
                f"members of group {_quoted(group.name)} in {_spaces(others)} do not count; {_WHO_WAITS}"
            )
            found.problem(rule.owner, EdgeSource.KAPP, f"{rule.key}: {message}")


def _kapp_keys(found: _Found, one: Declared) -> list[str]:
    if not one.annotations:
        return []
    keys = sorted([key for key in one.annotations if key in _KAPP_KEYS or key.startswith(_KAPP_STARTS)])
    if len(keys) > MOST_REFERENCES:
        message = f"only the first {MOST_REFERENCES} kapp annotations count, there are {len(keys)}"
        found.problem(one.id, EdgeSource.KAPP, message)
    return keys[:MOST_REFERENCES]


def _rule(one: Declared, key: str) -> _Rule | None:
    """The rule, where it is about workloads that are there: nothing is deleted here."""
    text = _expanded(one, key)
    match = _RULE.fullmatch(text)
    if match is None:
        raise _UnreadableError(f"{_quoted(text)} is not upsert <before|after> upserting <group>")
    action, order, others, name = match.groups()
    group = _group(name, one)
    if (action, others) != ("upsert", "upserting"):
        return None
    return _Rule(one.id, key, order == "before", group)


def _group(name: str, one: Declared) -> _Group:
    if not _GROUP.fullmatch(name):
        raise _UnreadableError(f"{_quoted(name)} is not the name of a group")
    return _Group(one.labels.get(KAPP_APP, ""), one.id.namespace, name)


def _expanded(one: Declared, key: str) -> str:
    """The annotation with its placeholders filled in from the workload that has it."""
    text = one.annotations[key]
    if len(text) > _LONGEST_KAPP_TEXT:
        raise _UnreadableError(f"{_quoted(text)} is longer than {_LONGEST_KAPP_TEXT} characters")
    if "{" not in text:
        return text
    values = {
        "{name}": one.id.name,
        "{namespace}": one.id.namespace,
        "{kind}": one.id.kind,
        "{api-group}": "apps",
    }
    unknown = [place for place in _PLACEHOLDER.findall(text) if place not in values]
    if unknown:
        raise _UnreadableError(f"{_quoted(unknown[0])} is none of {', '.join(values)}")
    return _PLACEHOLDER.sub(lambda place: values[place[0]], text)


def _follow(found: _Found, rules: list[_Rule], members: dict[_Group, dict[WorkloadId, None]]) -> None:
    """The edges of the rules of one workload; a group that nobody is in asks for nothing."""
    left = MOST_REFERENCES
    for rule in rules:
        group = members.get(rule.group, {})
        if len(group) > left:
            message = f"the groups that it waits for or precedes have more than {MOST_REFERENCES} members"
            found.problem(rule.owner, EdgeSource.KAPP, f"{rule.key}: not followed, {message}")
            continue
        left -= len(group)
        if rule.owner in group:
            message = f"it is itself in group {_quoted(rule.group.name)}"
            found.problem(rule.owner, EdgeSource.KAPP, f"{rule.key}: {message}")
        for other in group:
            if other != rule.owner:
                _relate(found, rule, other)


def _relate(found: _Found, rule: _Rule, other: WorkloadId) -> None:
    if rule.before:
        found.edge(other, rule.owner, f"annotation {rule.key} of {rule.owner}")
    else:
        found.edge(rule.owner, other, f"annotation {rule.key}")


class _Application(NamedTuple):
    """An Argo CD Application in one namespace, and what told us so: names from different places are not
    compared."""

    told_by: str
    name: str
    namespace: str


_Waves = dict[int, list[WorkloadId]]


def _read_sync_waves(found: _Found, workloads: list[Declared]) -> None:
    applications: dict[_Application, _Waves] = {}
    for one in workloads:
        if application := _application(one):
            applications.setdefault(application, {}).setdefault(_wave(found, one), []).append(one.id)
        elif SYNC_WAVE in one.annotations:
            message = f"{SYNC_WAVE}: not followed, neither {TRACKING_ID} nor {INSTANCE} names its application"
            found.problem(one.id, EdgeSource.SYNC_WAVE, message)
    for application, waves in applications.items():
        for lower, upper in pairwise(sorted(waves)):
            if len(waves[lower]) * len(waves[upper]) > MOST_BETWEEN_WAVES:
                message = (
                    f"{SYNC_WAVE}: not followed, waves {lower} ({len(waves[lower])} workloads) and {upper} "
                    f"({len(waves[upper])}) of application {_quoted(application.name)} are too large"
                )
                found.problem(waves[upper][0], EdgeSource.SYNC_WAVE, message)
            else:
                _line_up(found, waves[lower], waves[upper])
    _tell_of_spread(found, applications)


def _tell_of_spread(found: _Found, applications: dict[_Application, _Waves]) -> None:
    """An application that Argo CD has in several namespaces; two releases of one name are no application."""
    spread: dict[str, dict[str, _Waves]] = {}
    for application, waves in applications.items():
        if application.told_by == TRACKING_ID:
            spread.setdefault(application.name, {})[application.namespace] = waves
    for name, those in spread.items():
        last = max(number for waves in those.values() for number in waves)
        if len(those) > 1 and any(number != last for waves in those.values() for number in waves):
            about = next(waves[last][0] for waves in those.values() if last in waves)
            message = (
                f"waves of application {_quoted(name)} count within each of {_spaces(those)}; {_WHO_WAITS}"
            )
            found.problem(about, EdgeSource.SYNC_WAVE, f"{SYNC_WAVE}: {message}")


def _line_up(found: _Found, lower: list[WorkloadId], upper: list[WorkloadId]) -> None:
    for dependent in upper:
        for dependency in lower:
            found.edge(dependent, dependency, f"annotation {SYNC_WAVE}", soft=True)


def _wave(found: _Found, one: Declared) -> int:
    """The wave of the workload; 0 without one, and, as in Argo CD, where it is not a number."""
    text = one.annotations.get(SYNC_WAVE, "0")
    if _WAVE.fullmatch(text):
        return int(text)
    found.problem(one.id, EdgeSource.SYNC_WAVE, f"{SYNC_WAVE}: {_quoted(text)} is not a whole number")
    return 0


def _application(one: Declared) -> _Application | None:
    """By tracking-id, which counts only where it names this workload (others copy it); else by label."""
    name, _, tracked = one.annotations.get(TRACKING_ID, "").partition(":")
    if name and tracked == f"apps/{one.id.kind}:{one.id.namespace}/{one.id.name}":
        return _Application(TRACKING_ID, name, one.id.namespace)
    label = one.labels.get(INSTANCE)
    return _Application(INSTANCE, label, one.id.namespace) if label else None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…")


def _spaces(namespaces: Collection[str]) -> str:
    more = len(namespaces) - _MOST_NAMED
    named = ", ".join(sorted(namespaces)[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"namespace{'s' * (len(namespaces) != 1)} {named}"


def _listed(wrong: list[str]) -> str:
    more = len(wrong) - _MOST_NAMED
    return "; ".join(wrong[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
