"""What a node should have in a pass, whether it has it, and what it is asked to do for it.

What a node has is judged by its kubelet's own word and by what its agent says that there is, never by what
was once written on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from shiplift.agent.protocol import Operation, fits
from shiplift.api.nodes import NodeRolloutSpec, RolloutPass
from shiplift.api.values import Software
from shiplift.nodes.decide.path import Leg
from shiplift.nodes.decide.scope import version_of
from shiplift.nodes.model import Member, View
from shiplift.nodes.names import KUBEADM, KUBELET, KUBERNETES

MOST_SOFTWARE = 32
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+:~_-]{0,63}")


def package(version: str) -> str:
    """A version of Kubernetes as its packages are called: without the `v`."""
    return version.removeprefix("v")


def desired(spec: NodeRolloutSpec, leg: Leg, member: Member) -> dict[str, str]:
    """The packages that a node should have after a pass. Of Kubernetes' own, those that it has already."""
    if leg.pass_ is RolloutPass.CONTROL_PLANE:
        return {KUBEADM: package(leg.version)}
    found: dict[str, str] = {}
    if leg.version:
        names = (name for name in KUBERNETES if name == KUBELET or name in member.current)
        found = dict.fromkeys(names, package(leg.version))
    if leg.final:
        found |= {one.name: one.version for one in spec.software}
    return found


def operation(view: View, leg: Leg) -> Operation:
    """The first control plane applies the version to the cluster, the others follow it."""
    if leg.pass_ is not RolloutPass.CONTROL_PLANE:
        return Operation.PACKAGES
    there = any(same(version, leg.version) for version in view.api_servers.values())
    return Operation.UPGRADE_NODE if there else Operation.UPGRADE_APPLY


def fit(view: View, spec: NodeRolloutSpec, leg: Leg, member: Member) -> bool:
    """Whether a node has what a pass should bring it to."""
    if leg.pass_ is RolloutPass.CONTROL_PLANE:
        return not is_below(view.api_servers.get(member.name, ""), leg.version)
    if leg.spares is not None:
        version = version_of(member.row.kubelet_version)
        return version is None or version.line >= leg.spares
    if leg.version and not same(member.row.kubelet_version, leg.version):
        return False
    current = member.current
    if leg.version and not all(
        fits(package(leg.version), current[name]) for name in KUBERNETES if name in current
    ):
        return False
    return has(member, {one.name: one.version for one in spec.software})


def has(member: Member, wanted: Mapping[str, str]) -> bool:
    """Whether its agent says that it has all of that."""
    return all(fits(version, member.current.get(name, "")) for name, version in wanted.items())


def same(one: str, other: str) -> bool:
    """Whether two texts are one version of Kubernetes."""
    return version_of(one) == version_of(other) is not None


@lru_cache(1024)
def is_below(one: str, other: str) -> bool:
    """Whether a version has yet to come to another; an unknown one has."""
    left, right = version_of(one), version_of(other)
    if left is None or right is None:
        return True
    return left != right and (left.line, left.patch, left.stage) <= (right.line, right.patch, right.stage)


def as_stored(versions: Mapping[str, str]) -> tuple[Software, ...]:
    """Versions that a node has, as a status may hold them; what no package can be called is left out."""
    known = sorted(
        (name, text) for name, text in versions.items() if _NAME.fullmatch(name) and _VERSION.fullmatch(text)
    )
    return tuple(Software(name=name, version=text) for name, text in known[:MOST_SOFTWARE])
