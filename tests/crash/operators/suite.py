"""The layer `operators` under the crash harness, beside the real controllers and garbage collector."""

from __future__ import annotations

from typing import Any

from shiplift.agent.protocol import AGENT, current_key
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube import grants, rbac
from shiplift.kube.part import LayerPart
from shiplift.local.agents import Agents
from shiplift.local.nodes import Pool
from shiplift.operator import install
from shiplift.operators.controller import PART
from shiplift.operators.handing.ownership import OWNER, OWNER_UID
from shiplift.operators.names import INVENTORY
from tests.crash import normal
from tests.crash.facts import labels, notes
from tests.crash.mutants import Mutant
from tests.crash.nodes.scenarios import PACE, TIMING
from tests.crash.operators import facts, invariants, mutants, scenarios
from tests.crash.operators.scenarios import CATALOG, SPACE, Scenario
from tests.crash.operators.world import World
from tests.crash.orders import SPACE as OPERATOR
from tests.crash.recorder import Change, State, Trace
from tests.crash.stage import Stage
from tests.crash.suite import Flat, Player, Suite
from tests.operators.bundles import in_maps
from tests.operators.rig import ACCOUNT, CATALOGS, installer
from tests.until import until

Json = dict[str, Any]
ROLE = Kind("Role", "roles", rbac.GROUP)
BINDING = Kind("RoleBinding", "rolebindings", rbac.GROUP)
_REVISION = "deployment.kubernetes.io/revision"
_FREE_STATUS = frozenset(
    {"message", "observedGeneration", "lastSyncTime", "firstRunTime", "adopted", "crdFindings"}
)
_TOLD = ("AppType", "OperatorVersion", "OperatorCatalog")


class Operators:
    """What the harness asks of it."""

    @property
    def part(self) -> LayerPart:
        return PART

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return scenarios.ALL

    @property
    def mutants(self) -> tuple[Mutant, ...]:
        return mutants.ALL

    @property
    def watched(self) -> tuple[Kind, ...]:
        return (
            kinds.APP_TYPE,
            kinds.OPERATOR_VERSION,
            kinds.OPERATOR_CATALOG,
            kinds.UPGRADE_CONFIG,
            kinds.CUSTOM_RESOURCE_DEFINITION,
            kinds.DEPLOYMENT,
            kinds.CONFIG_MAP,
            kinds.SERVICE_ACCOUNT,
            ROLE,
            BINDING,
            kinds.POD,
        )

    def build(self, stage: Stage, scenario: Scenario) -> None:
        pools = scenarios.OLD_NODES if scenario.old_nodes else (Pool("n", 1),)
        stage.cluster.nodes.add(*pools)
        stage.cluster.nodes.wait_schedulable(*pools)
        if scenario.old_nodes:
            with Agents(stage.cluster.credentials(), PACE, TIMING):
                until(lambda: _have_told(stage, sum(pool.count for pool in pools)), 30)
        stage.create_namespaces([SPACE, CATALOGS])
        stage.create(grants.catalogs(CATALOGS, install.ACCOUNT, OPERATOR))
        stage.create(installer(SPACE))
        stage.create(in_maps(CATALOG, CATALOGS, scenario.offered))
        stage.create(_wanted(scenario))

    def playing(self, stage: Stage, scenario: Scenario) -> Player:
        return World(stage, scenario)

    def broken(self, scenario: Scenario, trace: Trace) -> list[str]:
        return invariants.broken(scenario, trace)

    def residue(self, state: State) -> list[str]:
        return facts.residue(state)

    def end(self, scenario: Scenario, state: State) -> Flat:
        """What is told, and what is installed; of owners their names, since uids differ."""
        flat: Flat = {}
        known = facts.alive(state)
        for key, one in state.items():
            if key.kind in _TOLD:
                flat |= dict(normal.flatten(str(key), _told(one)))
            elif (key.namespace == SPACE and key.kind != "Pod") or "harbour.example" in key.name:
                flat |= dict(normal.flatten(str(key), _object(one, known)))
        return flat

    def counted_as(self, change: Change) -> str:
        return f"pods of {change.key.namespace}" if change.key.kind == "Pod" else str(change.key)

    def most(self, scenario: Scenario, name: str) -> int:
        """Pods come and go as their Deployments are changed; nothing else does."""
        return 12 if name.startswith("pods of") else 0

    def told(self, state: State) -> str:
        return facts.told(state)

    def is_work(self, step: str) -> bool:
        return "operatorversions" in step or "deployments" in step or "[ownerReferences" in step

    def alike(self, scenario: Scenario, about: str) -> str:
        return about


def _have_told(stage: Stage, count: int) -> bool:
    told = {AGENT, current_key("kubelet"), current_key("containerd")}
    found = list(stage.admin.list(kinds.NODE))
    return len(found) == count and all(told <= notes(one).keys() for one in found)


def _wanted(scenario: Scenario) -> list[Json]:
    spec = {"package": scenario.package, "serviceAccountName": ACCOUNT, **scenario.spec}
    kind = kinds.APP_TYPE
    about = {"name": scenario.package, "namespace": SPACE}
    found = [{"apiVersion": kind.api_version, "kind": kind.kind, "metadata": about, "spec": spec}]
    if scenario.upgrading:
        upgrade = kinds.UPGRADE_CONFIG
        asked = {"desired": {"version": "v1.36.3"}}
        found.append(
            {
                "apiVersion": upgrade.api_version,
                "kind": upgrade.kind,
                "metadata": {"name": "cluster"},
                "spec": asked,
            }
        )
    return found


def _told(one: Json) -> Json:
    about = normal.thing(one)
    for free in ("ownerReferences",):
        about["metadata"].pop(free, None)
    status = normal.status(one.get("status") or {}, _FREE_STATUS)
    status["tombstones"] = [
        (each["namespace"], each["package"]) for each in (one.get("status") or {}).get("tombstones") or ()
    ]
    return {**about, "status": status}


def _object(one: Json, known: dict[str, str]) -> Json:
    """Which version it belongs to and is controlled by, what it is made of, and whose marks it has."""
    references = [
        (each["name"], each.get("controller", False)) for each in one["metadata"].get("ownerReferences") or ()
    ]
    said = {key: value for key, value in notes(one).items() if key not in (OWNER_UID, _REVISION, INVENTORY)}
    rest = {key: one.get(key) for key in ("spec", "data", "rules", "subjects") if key in one}
    if one.get("kind") == "CustomResourceDefinition":
        rest = {"versions": [each["name"] for each in one["spec"]["versions"]]}
    return {
        "owner": labels(one).get(OWNER),
        "uid": known.get(notes(one).get(OWNER_UID, "")),
        "references": references,
        "annotations": said,
        **rest,
    }


SUITE: Suite[Scenario] = Operators()
