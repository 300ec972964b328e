"""The path of an upgrade: from what runs to what is wanted, or why there is none.

What is kept true: a cluster never goes back, no minor is skipped, and versions that have no order are never
guessed about. The path is computed apart from walking it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shiplift.engine.versions import Order, Version, VersionError, parse, reaches
from shiplift.upgrade.model import Machine


class RefusedError(ValueError):
    """There is no way to that version; says why, and what would help."""


def path_to(target: str, preceding: str) -> tuple[str, ...]:
    """The versions that the control plane goes through; none where it is there already."""
    if reaches(preceding, target):
        return ()
    return (target,) if parse(preceding).compare(parse(target)) is Order.LOWER else ()


def lowest(api_servers: Mapping[str, str]) -> str:
    """The version that counts where API servers have several; empty where one is not known, or none."""
    if not api_servers or not all(map(is_version, api_servers.values())):
        return ""
    found = [parse(text) for text in api_servers.values()]
    low = found[0]
    for one in found[1:]:
        low = one if one.compare(low) is Order.LOWER else low
    return str(low)


def is_version(text: str) -> bool:
    """Whether it can be compared with others: it comes from a server, or from a note on a node."""
    try:
        parse(text)
    except VersionError:
        return False
    return True


def refuse(target: str, api_servers: Mapping[str, str], machines: Iterable[Machine]) -> None:
    """Raises where the cluster cannot go there; every API server's version is known."""
    try:
        wanted = parse(target)
        for place, text in api_servers.items():
            if not reaches(text, target):
                _refuse_below(wanted, parse(text), f"the API server of {place}")
        for one in machines:
            if not reaches(one.kubelet, target):
                _refuse_below(wanted, parse(one.kubelet), f"the kubelet of node {one.name}")
        _refuse_skipping(wanted, parse(lowest(api_servers)))
    except VersionError as error:
        raise RefusedError(f"{error}; {error.hint}") from None


def _refuse_below(target: Version, runs: Version, where: str) -> None:
    order = target.compare(runs)
    if order in {Order.HIGHER, Order.SAME}:
        return
    why = "is below" if order is Order.LOWER else "has no order with"
    raise RefusedError(f"{target} {why} {runs}, which {where} runs: a cluster never goes back")


def _refuse_skipping(target: Version, runs: Version) -> None:
    if target.major == runs.major and target.minor <= runs.minor + 1:
        return
    raise RefusedError(
        f"{target} is more than one minor above {runs}, which the control plane runs:"
        f" upgrade to v{runs.major}.{runs.minor + 1} first"
    )
