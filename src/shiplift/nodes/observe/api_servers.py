"""Which versions the API servers have, from what agents of control-plane nodes say."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiplift.engine import api_servers as servers
from shiplift.engine.api_servers import API_SERVER
from shiplift.nodes.model import Member


def api_servers(members: Iterable[Member], asked: Callable[[], str]) -> dict[str, str]:
    """By where each is; `asked` is what the server says that answers us."""
    return servers.api_servers(
        {one.name: one.current.get(API_SERVER, "") for one in members if one.control_plane}, asked
    )
