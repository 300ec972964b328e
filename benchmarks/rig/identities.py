"""Who the contenders are to the API server: our operator by its own account, all others by one guest's."""

from __future__ import annotations

from benchmarks.recipe.base import Json
from shiplift.kube.account import Account

OPERATOR = Account("shiplift-system", "shiplift")
GUEST = Account("contenders", "contender")
ALL = (OPERATOR, GUEST)


def guest() -> list[Json]:
    """May do everything, as those who drain nodes by hand usually may."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    about = {"name": GUEST.name, "namespace": GUEST.namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GUEST.namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": GUEST.name},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", **about}],
        },
    ]
