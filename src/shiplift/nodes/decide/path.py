"""The path of a version: which pass over which nodes follows which, from what runs to what is wanted.

What is kept true: a control plane goes minor by minor and never back; no kubelet is ahead of any API server;
none is more than three minors behind the API servers that come next. A path that cannot keep that is refused
as a whole, before anything is changed. The path is computed from what runs, so that who computes it again in
the middle finds the rest of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

import msgspec

from shiplift.api.nodes import RolloutPass
from shiplift.engine.api_servers import ASKED
from shiplift.engine.versions import KUBELET_MAY_LAG, Order, Version, VersionError, parse

Minor = tuple[int, int]
VIA = "spec.via of the NodeRollout"


class Leg(NamedTuple):
    """One pass to one version; the version is empty where none of Kubernetes is asked for."""

    pass_: RolloutPass
    version: str = ""
    spares: Minor | None = None
    """Kubelets of this minor or a newer one are left alone: only those that lag too far catch up."""

    @property
    def final(self) -> bool:
        """Whether nodes have all that was asked for when it is over."""
        return self.pass_ is not RolloutPass.CONTROL_PLANE and self.spares is None


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """What runs before the path begins; versions by name of the node, or of where it is."""

    control_planes: Mapping[str, str] = {}
    """API servers of control-plane nodes that take part."""
    others: Mapping[str, str] = {}
    """API servers that do not take part: a cloud's, or of nodes that were left out."""
    control_plane_kubelets: Mapping[str, str] = {}
    workers: Mapping[str, str] = {}
    outside: Mapping[str, str] = {}
    """Kubelets that do not take part."""


class Path(NamedTuple):
    legs: tuple[Leg, ...]
    versions: tuple[str, ...]
    """Of the control plane, in order."""


class RefusedError(ValueError):
    """The version cannot be rolled out; says why, and what would help."""


SOFTWARE_ONLY = Path((Leg(RolloutPass.CONTROL_PLANE_KUBELETS), Leg(RolloutPass.WORKERS)), ())


def path_to(target: str | None, via: Iterable[str], running: Running) -> Path:
    """The path to a version; raises where there is none."""
    if target is None:
        return SOFTWARE_ONLY
    try:
        return _path(parse(target), tuple(map(parse, via)), running)
    except VersionError as error:
        raise RefusedError(f"{error}; {error.hint}") from None


def _path(target: Version, via: tuple[Version, ...], running: Running) -> Path:
    _refuse_backwards((*via, target))
    _refuse_below(target, running.control_planes, "the API server of node {}")
    _refuse_below(target, running.control_plane_kubelets, "the kubelet of node {}")
    _refuse_below(target, running.workers, "the kubelet of node {}")
    _refuse_ahead(target, running)
    steps = _steps(target, via, running.control_planes)
    if steps:
        _refuse_left_behind(target, running.outside)
    legs = (*_walked(steps, running), *_kubelets(target))
    return Path(legs, tuple(str(one) for one in steps))


def _steps(target: Version, via: tuple[Version, ...], api_servers: Mapping[str, str]) -> list[Version]:
    """The versions that the control plane still has to go through."""
    if not api_servers:
        return []
    name, lowest = _lowest(api_servers)
    steps = [one for one in (*via, target) if one.compare(lowest) is Order.HIGHER]
    before = lowest
    for one in steps:
        if one.line[0] != before.line[0] or one.minor > before.minor + 1:
            raise RefusedError(
                f"{one} is more than one minor above {before}"
                + (f", which node {name} runs" if before is lowest else "")
                + f": name the versions between in {VIA}, as in v{before.major}.{before.minor + 1}.0"
            )
        before = one
    return steps


def _walked(steps: list[Version], running: Running) -> Iterable[Leg]:
    """The control plane step by step; kubelets that would lag too far catch up before a step."""
    groups = {
        RolloutPass.CONTROL_PLANE_KUBELETS: running.control_plane_kubelets,
        RolloutPass.WORKERS: running.workers,
    }
    lowest = {one: _lowest(kubelets)[1] for one, kubelets in groups.items() if kubelets}
    before = _lowest(running.control_planes)[1] if running.control_planes else None
    for step in steps:
        least = (step.major, step.minor - KUBELET_MAY_LAG)
        for pass_, version in lowest.items():
            if version.line < least and before is not None and before.line > version.line:
                yield Leg(pass_, str(before), least)
                lowest[pass_] = before
        yield Leg(RolloutPass.CONTROL_PLANE, str(step))
        before = step


def _kubelets(target: Version) -> tuple[Leg, Leg]:
    return (
        Leg(RolloutPass.CONTROL_PLANE_KUBELETS, str(target)),
        Leg(RolloutPass.WORKERS, str(target)),
    )


def _lowest(running: Mapping[str, str]) -> tuple[str, Version]:
    found = [(name, parse(text)) for name, text in running.items()]
    low = found[0]
    for one in found[1:]:
        if one[1].compare(low[1]) is Order.LOWER:
            low = one
    return low


def _refuse_backwards(versions: tuple[Version, ...]) -> None:
    for one, following in pairwise(versions):
        if following.compare(one) is not Order.HIGHER:
            raise RefusedError(f"{VIA}: {one} is not below {following}, which comes after it")


def _refuse_below(target: Version, running: Mapping[str, str], whose: str) -> None:
    for text in dict.fromkeys(running.values()):
        order = target.compare(parse(text))
        if order in {Order.HIGHER, Order.SAME}:
            continue
        name = next(name for name, version in running.items() if version == text)
        why = "is below" if order is Order.LOWER else "has no order with"
        raise RefusedError(
            f"{target} {why} {text}, which {whose.format(name)} runs; ask for a later version,"
            f" or leave the node out with node.shiplift.dev/skip-rollout"
        )


def _refuse_ahead(target: Version, running: Running) -> None:
    """What does not take part stays as it is: no kubelet may come to be ahead of it."""
    for place, text in running.others.items():
        if parse(text).line < target.line:
            whose = "this cluster" if place == ASKED else f"node {place}"
            raise RefusedError(
                f"{target} is of a later minor than the API server of {whose}, which runs {text} and which"
                " this NodeRollout does not change; upgrade that first"
            )


def _refuse_left_behind(target: Version, outside: Mapping[str, str]) -> None:
    least = (target.major, target.minor - KUBELET_MAY_LAG)
    for name, text in outside.items():
        if parse(text).line < least:
            raise RefusedError(
                f"node {name}, which this NodeRollout does not change, runs {text}, more than"
                f" {KUBELET_MAY_LAG} minors below {target}; upgrade it first, or let the selector match it"
            )
