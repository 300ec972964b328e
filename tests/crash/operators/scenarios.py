"""Operators on their way, act by act: what the catalog has, what a user asks for, what others do."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.local.nodes import Pool
from tests.crash import suite
from tests.crash.nodes.scenarios import AGENTS
from tests.crash.workloads.shape import OLD
from tests.operators.bundles import Written, definition
from tests.operators.rig import boats

Json = dict[str, Any]
SPACE, APP = "harbour", "boats"
CATALOG, LATER = "main", "later"
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"speed": "slow"},
}
ORDER = ("1.0.0", "1.1.0", "1.2.0")
THREE = tuple(boats(*ORDER, beside=(SETTINGS,)))
NETS = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
VETO = {"type": "Upgradeable", "reason": "Busy", "message": "a backup is running"}
UPGRADED = {"type": "ControlPlaneUpgraded", "status": "True", "reason": "Done"}


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """What is done at its beginning, and what is true at its end."""

    spec: Json = msgspec.field(default_factory=dict)
    """What a user writes into the AppType."""
    delete: bool = False
    """A user deletes the AppType."""
    veto: str = ""
    """The status of the condition Upgradeable, on the version that runs."""
    offer: bool = False
    """A second catalog comes, with what the first has not."""
    upgrade: Json | None = None
    """What the conductor says in the status of the UpgradeConfig."""
    conduct: bool = False
    """A user asks for an upgrade of the cluster, and there is somebody to conduct it."""
    target: bool = False
    """The upgrade has begun in the end."""
    upgraded: bool = False
    """The cluster is upgraded in the end."""
    installed: str = ""
    """The version that runs in the end, alone."""
    reason: tuple[str, str] = ("", "")
    """A condition of the AppType, and the reason that it has in the end."""
    boats: int = 0
    """So many custom resources are made at its beginning, and are there in the end."""
    gone: bool = False
    also: str = ""
    """Another AppType that runs in the end."""


class Scenario(suite.Scenario, frozen=True, kw_only=True):
    """One way of an operator."""

    acts: tuple[Act, ...]
    spec: Json = msgspec.field(default_factory=dict)
    offered: tuple[Written, ...] = THREE
    later: tuple[Written, ...] = ()
    package: str = APP
    upgrading: bool = False
    """There is an UpgradeConfig."""
    old_nodes: bool = False
    """Its nodes are of an older version, and their agents run."""
    overlaps: bool = True
    """Pods of two versions may be there at once, as a Deployment replaces its own."""


def renamed() -> tuple[Written, ...]:
    """The second version has a Deployment of another name."""
    first, second = boats("1.0.0", "1.1.0", beside=(SETTINGS,))
    return first, msgspec.structs.replace(second, deployment="fleet", selects="fleet", beside=())


def stuck() -> tuple[Written, ...]:
    """The second version never runs."""
    first, second = renamed()
    return first, msgspec.structs.replace(second, stuck=True)


def changed() -> tuple[Written, ...]:
    """The second version changes the definition, harmlessly."""
    first, second = boats("1.0.0", "1.1.0", beside=(SETTINGS,))
    wider = definition("boats", size={"type": "integer"}, color={"type": "string"})
    return first, msgspec.structs.replace(second, owned=(wider,))


def outgrown() -> tuple[Written, ...]:
    """The second version stores its custom resources otherwise, the third does not know the first way."""
    known = (("v1",), ("v1", "v2"), ("v2",))
    return tuple(
        msgspec.structs.replace(one, owned=(definition("boats", versions),))
        for one, versions in zip(THREE, known, strict=True)
    )


OLD_NODES = (
    Pool("p", 1, OLD, labels={"node-role.kubernetes.io/control-plane": ""}),
    Pool("n", 2, OLD),
)
RUNNING = {"targetVersion": "v1.36.3", "phase": "Upgrading", "startTime": "2026-11-17T10:00:00Z"}

ALL: tuple[Scenario, ...] = (
    Scenario(name="install", acts=(Act(installed="1.2.0"),)),
    Scenario(
        name="upgrade",
        spec={"version": "1.0.0"},
        acts=(Act(installed="1.0.0"), Act(spec={"version": None}, installed="1.2.0")),
    ),
    Scenario(
        name="hand-over",
        offered=renamed(),
        overlaps=False,
        spec={"version": "1.0.0"},
        acts=(Act(installed="1.0.0"), Act(spec={"version": None}, installed="1.1.0")),
    ),
    Scenario(
        name="definition",
        repeats="upgrade",
        offered=changed(),
        spec={"version": "1.0.0"},
        acts=(Act(installed="1.0.0"), Act(spec={"version": None}, installed="1.1.0")),
    ),
    Scenario(
        name="storing",
        repeats="upgrade",
        offered=outgrown(),
        spec={"version": "1.0.0"},
        acts=(Act(installed="1.0.0"), Act(boats=3, spec={"version": None}, installed="1.2.0")),
    ),
    Scenario(
        name="veto",
        repeats="upgrade",
        offered=THREE[:2],
        spec={"version": "1.0.0"},
        acts=(
            Act(installed="1.0.0"),
            Act(veto="False", spec={"version": None}, reason=("UpToDate", "Vetoed")),
            Act(veto="True", installed="1.1.0"),
        ),
    ),
    Scenario(
        name="requirement",
        offered=(NETS,),
        later=THREE[:1],
        package="nets",
        acts=(
            Act(reason=("Installed", "NoProvider")),
            Act(offer=True, installed="1.0.0", also=APP),
        ),
    ),
    Scenario(
        name="uninstall",
        offered=THREE[:1],
        acts=(Act(installed="1.0.0"), Act(delete=True, gone=True)),
    ),
    Scenario(
        name="back",
        offered=THREE[:2],
        acts=(Act(installed="1.1.0"), Act(spec={"version": "1.0.0"}, installed="1.0.0")),
    ),
    Scenario(
        name="withdrawn",
        offered=stuck(),
        overlaps=False,
        spec={"version": "1.0.0"},
        acts=(
            Act(installed="1.0.0"),
            Act(spec={"version": None}, reason=("Installed", "WaitingForPods")),
            Act(spec={"version": "1.0.0"}, installed="1.0.0"),
        ),
    ),
    Scenario(
        name="turn",
        repeats="upgrade",
        offered=THREE[:2],
        upgrading=True,
        spec={"version": "1.0.0"},
        acts=(
            Act(installed="1.0.0"),
            Act(upgrade=RUNNING, spec={"version": None}, reason=("UpToDate", "Turn")),
            Act(upgrade={**RUNNING, "conditions": [UPGRADED]}, installed="1.1.0"),
        ),
    ),
    Scenario(
        name="conducted",
        repeats="upgrade",
        offered=THREE[:2],
        layers=("operators", "upgrade", "workloads", "nodes"),
        leaves_others=True,
        companions=(AGENTS,),
        old_nodes=True,
        spec={"version": "1.0.0"},
        acts=(
            Act(installed="1.0.0"),
            Act(conduct=True, target=True),
            Act(spec={"version": None}, installed="1.1.0", upgraded=True),
        ),
    ),
)
