"""Which versions the API servers have: the one place in which that becomes a fact.

The agents of control-plane nodes say it. Where a cloud runs the control plane there is no such node, and
where an agent does not say it nobody knows: then the server that answers us is asked, and counts as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiplift.nodes.model import Member
from shiplift.nodes.names import API_SERVER, ASKED


def api_servers(members: Iterable[Member], asked: Callable[[], str]) -> dict[str, str]:
    """By where each is; `asked` is what the server says that answers us. One whose version nobody knows is
    there with an empty one."""
    planes = [one for one in members if one.control_plane]
    found = {one.name: one.current.get(API_SERVER, "") for one in planes}
    return found if planes and all(found.values()) else {**found, ASKED: asked()}
