"""What wakes which loops."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from shiplift.engine.step import Outcomes
from shiplift.facts.cluster import CustomResourceDefinition, Namespace
from shiplift.facts.kinds import (
    APP_TYPE,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    NAMESPACE,
    OPERATOR_CATALOG,
    OPERATOR_VERSION,
)
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.kube.client import Client
from shiplift.kube.store import Store
from shiplift.operators.controller import FENCED, PART, RULES, wakes
from shiplift.operators.model import Key, Loop, UsherView
from shiplift.operators.names import BUNDLE, REQUIRED
from shiplift.operators.observe.checks import Checks
from shiplift.operators.observe.observer import Observer
from shiplift.operators.observe.shelf import Shelf
from tests.operators.bundles import GROUP, Written
from tests.operators.decide.test_installing import deployment
from tests.operators.decide.views import app, version
from tests.operators.rig import boats
from tests.operators.world import SPACE, FakeStore, World

OPV = ("requirement", "install", "upgrade", "collect")
EVERYBODY = Key(Loop.USHER)


def test_a_version_wakes_its_own_loops_and_where_it_matters_those_of_its_apptype() -> None:
    old = version("1.0.0")
    own = [Key(Loop(one), "ops", old.name) for one in OPV]
    assert list(wakes(OPERATOR_VERSION, None, old)) == [*own, EVERYBODY]
    same = msgspec.structs.replace(old, resource_version=8)
    assert list(wakes(OPERATOR_VERSION, old, same)) == own
    going = msgspec.structs.replace(old, deleting=5)
    assert list(wakes(OPERATOR_VERSION, old, going)) == [*own, Key(Loop.USHER, "ops", old.name)]
    runs = version("1.0.0", 1, "", "Installed")
    assert EVERYBODY in list(wakes(OPERATOR_VERSION, old, runs)), "others may require it"


def test_an_apptype_wakes_its_two_loops() -> None:
    assert list(wakes(APP_TYPE, None, app()))[:2] == [
        Key(Loop.APP_TYPE, "ops", "app"),
        Key(Loop.CATALOG, "ops", "app"),
    ]


def test_deployments_of_operators_wake_somebody_and_those_that_may_be_one() -> None:
    ours = deployment(version("1.0.0"))
    assert list(wakes(DEPLOYMENT, None, ours)) == [Key(Loop.USHER, "ops", "app.v1.0.0")]
    same = msgspec.structs.replace(ours, resource_version=9, ready_replicas=0)
    assert list(wakes(DEPLOYMENT, ours, same)) == []
    assert BUNDLE in ours.annotations
    stripped = msgspec.structs.replace(ours, annotations=NO_LABELS)
    assert list(wakes(DEPLOYMENT, ours, stripped)) == [Key(Loop.USHER, "ops", "app.v1.0.0")]
    assert list(wakes(DEPLOYMENT, None, stripped)) == [Key(Loop.USHER, "ops")], "replaced whole"
    rolled = msgspec.structs.replace(stripped, generation=9, updated_replicas=0)
    assert list(wakes(DEPLOYMENT, stripped, rolled)) == [], "anybody's, as any day"
    scaled = msgspec.structs.replace(stripped, replicas=3)
    assert list(wakes(DEPLOYMENT, stripped, scaled)) == [Key(Loop.USHER, "ops")]


def crd(**more: object) -> CustomResourceDefinition:
    base = CustomResourceDefinition(
        namespace="",
        name="boats.harbour.example",
        uid="u",
        resource_version=1,
        generation=1,
        created=1,
        deleting=0,
        labels=NO_LABELS,
        annotations=NO_LABELS,
        owners=(),
        finalizers=(),
        group="harbour.example",
        kind="Boat",
        plural="boats",
        scope="Namespaced",
        versions=(),
        stored_versions=(),
        conditions=(),
    )
    return msgspec.structs.replace(base, **more)


def test_a_definition_wakes_who_may_wait_for_it() -> None:
    assert list(wakes(CUSTOM_RESOURCE_DEFINITION, None, crd())) == [EVERYBODY]
    named = Key(Loop.USHER, "", "boats.harbour.example")
    assert list(wakes(CUSTOM_RESOURCE_DEFINITION, crd(), crd(generation=2))) == [EVERYBODY, named]
    made = crd(labels=Labels({REQUIRED: "true"}))
    assert Key(Loop.CRD, "", made.name) in list(wakes(CUSTOM_RESOURCE_DEFINITION, None, made))
    assert list(wakes(CUSTOM_RESOURCE_DEFINITION, made, crd(labels=made.labels, resource_version=2))) == []


def test_a_namespace_that_goes_wakes_all_that_is_in_it() -> None:
    stays = Namespace("", "ops", "u", 1, 1, 1, 0, NO_LABELS, NO_LABELS, (), (), phase="Active")
    assert list(wakes(NAMESPACE, None, stays)) == []
    assert list(wakes(NAMESPACE, stays, msgspec.structs.replace(stays, deleting=5))) == [
        Key(Loop.USHER, "ops")
    ]


def test_a_catalog_wakes_its_reader() -> None:
    assert next(iter(wakes(OPERATOR_CATALOG, None, app()))) == Key(Loop.SOURCE, "", "app")


def test_it_writes_nothing_but_our_own_kinds_as_itself() -> None:
    written = [rule for rule in RULES if rule["verbs"] != ["get"]]
    assert {group for rule in written for group in rule["apiGroups"]} == {"shiplift.dev"}


@pytest.mark.parametrize(
    "resource",
    [
        "deployments",
        "clusterroles",
        "secrets",
        "jobs",
        "customresourcedefinitions",
        "customresourcedefinitions/status",
    ],
)
def test_what_is_written_as_somebody_else_is_fenced(resource: str) -> None:
    assert PART.granted_rules == FENCED
    assert any(resource in rule["resources"] for rule in FENCED)


def test_who_is_let_go_on_has_its_definitions_looked_at() -> None:
    """The one that provides them is asked for by those who may go on, and nobody else wakes it."""
    world = World()
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    world.offer(nets, *boats("1.0.0"))
    world.ask("nets")
    world.settle()
    observer = Observer(
        cast("Store", FakeStore(world.server)),
        cast("Client", world.client),
        cast("Shelf", None),
        Checks(),
        lambda: "v1.36.3",
    )
    view = observer.observe(Key(Loop.USHER, SPACE, "nets"), Outcomes())
    assert isinstance(view, UsherView)
    assert Key(Loop.CRD, "", f"boats.{GROUP}") in view.keys
    view = observer.observe(Key(Loop.USHER, SPACE, "boats"), Outcomes())
    assert isinstance(view, UsherView)
    assert Key(Loop.CRD, "", f"boats.{GROUP}") not in view.keys
    view = observer.observe(Key(Loop.USHER, "", f"boats.{GROUP}"), Outcomes())
    assert isinstance(view, UsherView)
    assert {one.name for one in view.keys} == {"nets.v1.0.0", "boats.v1.0.0"}, "who brings or requires it"
