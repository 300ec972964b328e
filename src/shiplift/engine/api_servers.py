"""Which versions the API servers have: the one place in which that becomes a fact.

The agents of control-plane nodes say it. Where a cloud runs the control plane there is no such node, and
where an agent does not say it nobody knows: then the server that answers us is asked, and counts as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

API_SERVER = "kube-apiserver"
"""The software by which the agent of a control-plane node says which version its API server has."""
ASKED = "kubernetes"
"""How the API server that answers us is named: where it is it does not say."""


def api_servers(told: Mapping[str, str], asked: Callable[[], str]) -> dict[str, str]:
    """By where each is: `told` is what agents say of control-plane nodes, by name, `asked` what the server
    says that answers us. One whose version nobody knows is there with an empty one."""
    return dict(told) if told and all(told.values()) else {**told, ASKED: asked()}
